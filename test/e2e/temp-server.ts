import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { field, textField } from '../fixtures/field.ts'
import type { Place } from '../fixtures/place.ts'

/** The command as it is shipped. */
export const CLI = join(import.meta.dirname, '../../dist/cli.js')

/** Runs `kiwi` to its end. */
export async function kiwi(
  place: Place,
  args: readonly string[],
  input = '',
): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [CLI, ...args], { cwd: place.project, env: place.env })
  child.stdin.end(input)
  const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)]
  const [code] = await once(child, 'close')
  return { code: Number(code), stdout: await stdout, stderr: await stderr }
}

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  for await (const chunk of stream) text += String(chunk)
  return text
}

/** A `kiwi serve` on a port of its own. */
export interface TempServer {
  readonly url: string
  readonly token: string
  readonly child: ChildProcess
  stop(): Promise<void>
}

export async function startServer(place: Place, args: readonly string[] = []): Promise<TempServer> {
  const child = spawn(process.execPath, [CLI, 'serve', '--port', '0', '--json', ...args], {
    cwd: place.project,
    env: place.env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let line = ''
  for await (const chunk of child.stdout) {
    line += String(chunk)
    if (line.includes('\n')) break
  }
  const started: unknown = JSON.parse(line)
  const tokenFile = field(started, 'token_file')
  return {
    url: textField(started, 'url'),
    token: typeof tokenFile === 'string' ? readFileSync(tokenFile, 'utf8').trim() : '',
    child,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'close')
    },
  }
}
