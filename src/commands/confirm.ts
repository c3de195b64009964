import { createInterface } from 'node:readline/promises'
import { KiwiError } from '../shared/errors.ts'

/** Asks a person. Where nobody can be asked, CONFIRM_REQUIRED says how to answer beforehand. */
export async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new KiwiError('CONFIRM_REQUIRED', `Cannot ask "${question}": there is no terminal to ask on`, {
      hint: 'Add --yes to say yes beforehand',
    })
  }
  const asking = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(?:es)?$/i.test((await asking.question(`${question} [y/N] `)).trim())
  } finally {
    asking.close()
  }
}
