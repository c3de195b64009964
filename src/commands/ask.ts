import { createInterface } from 'node:readline/promises'

/** Whether there is a person to be asked. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY
}

/** Asks for a yes. Anything else is a no. */
export async function isAgreed(question: string): Promise<boolean> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(?:es)?$/i.test((await prompt.question(`${question} [y/N] `)).trim())
  } finally {
    prompt.close()
  }
}
