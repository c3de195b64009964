import { KiwiError } from '../../shared/errors.ts'

/** A program of which nothing is known for sure is not started. */
export function unavailable(name: string, wrong: string): KiwiError {
  return new KiwiError(
    'POLICY_ERROR',
    `Cannot start "${name}": what is known of it cannot be used: ${wrong}`,
    {
      hint: 'A person corrects the file, or takes it away, and starts Kiwi again',
      details: { layer: 'argv', rule: null },
    },
  )
}
