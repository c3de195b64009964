import { createInterface } from 'node:readline/promises'

/** Whether there is a person to be asked. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY
}

/** Asks for a yes. Anything else is a no. */
export async function isAgreed(question: string): Promise<boolean> {
  return /^y(?:es)?$/i.test(await typed(`${question} [y/N] `))
}

/** What the person types; empty when they end the input. */
export async function typed(question: string): Promise<string> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  const ended = new Promise<string>((resolve) => prompt.once('close', () => resolve('')))
  try {
    return (await Promise.race([prompt.question(question), ended])).trim()
  } finally {
    prompt.close()
  }
}
