// The floor of a proxy: messages read, ids mapped, written on. Nothing judged, nothing kept.
import { spawn } from 'node:child_process'

const [command, ...args] = process.argv.slice(2)
const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] })
const asked = new Map()
let last = 0

lines(process.stdin, (line) => {
  const message = JSON.parse(line)
  if (message.method === undefined || message.id === undefined) return child.stdin.write(`${line}\n`)
  asked.set(++last, message.id)
  child.stdin.write(`${JSON.stringify({ ...message, id: last })}\n`)
})
lines(child.stdout, (line) => {
  const message = JSON.parse(line)
  if (message.method !== undefined || !asked.has(message.id)) return process.stdout.write(`${line}\n`)
  const id = asked.get(message.id)
  asked.delete(message.id)
  process.stdout.write(`${JSON.stringify({ ...message, id })}\n`)
})
process.stdin.on('end', () => child.kill())
child.on('exit', () => process.exit())

function lines(stream, take) {
  let rest = ''
  stream.setEncoding('utf8').on('data', (chunk) => {
    const parts = (rest + chunk).split('\n')
    rest = parts.pop() ?? ''
    for (const line of parts) take(line)
  })
}
