import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { KiwiError } from '../shared/errors.ts'

/** Asks at the terminal without showing what is typed. */
export function readHidden(question: string): Promise<string> {
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() })
  const prompt = createInterface({ input: process.stdin, output: hidden, terminal: true, historySize: 0 })
  process.stderr.write(question)
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      prompt.close()
      process.stderr.write('\n')
      settle()
    }
    prompt.once('line', (line) => end(() => resolve(line)))
    prompt.once('SIGINT', () =>
      end(() => reject(new KiwiError('CANCELLED', 'Cannot read the value: it was cancelled'))),
    )
  })
}

/** What another program hands over, without the line break at its end. */
export async function readPiped(): Promise<string> {
  return (await text(process.stdin)).replace(/\r?\n$/, '')
}
