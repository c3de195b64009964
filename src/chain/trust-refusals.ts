import { KiwiError } from '../shared/errors.ts'
import { realPathOf } from '../spaces/disk.ts'
import type { Item } from '../spaces/item.ts'
import type { Verified } from './verify.ts'

/** A clock may be this far ahead. */
const SKEW_MS = 5 * 60 * 1000

/** Makes the refusal of something by its verb, such as `run`. */
export type Refuse = (verb: string) => KiwiError

/** An item with such a signature, as a link of the chain of `leaf`. */
interface JudgedLink {
  readonly leaf: Item
  readonly item: Item
  readonly signature: Verified
  /** The project it came with, when nobody has trusted that. */
  readonly untrusted: string | null
}

/** What stands against it. */
export function refusalOf(link: JudgedLink, now: number): Refuse | null {
  const { leaf, item, signature } = link
  const { state, reason, fingerprint, time } = signature
  if (state === 'unverified') return (verb) => modified(verb, link)
  const why = reason ?? (isEarly(signature, now) ? 'time_invalid' : null)
  if (why === null) return null
  return (verb) =>
    new KiwiError(
      'UNTRUSTED',
      `Cannot ${verb} "${leaf.id}": the signature of "${item.id}" is refused: ${REASONS[why]}`,
      {
        hint: `Ask the person to review "${item.id}" and sign it: kiwi sign ${item.id}`,
        details: { reason: why, tool: item.id, fingerprint, time },
      },
    )
}

export function isEarly({ time }: Verified, now: number): boolean {
  return time !== null && Date.parse(time) > now + SKEW_MS
}

const REASONS: Readonly<Record<string, string>> = {
  key_revoked: 'its key was revoked',
  key_scope: 'its key does not reach this namespace',
  time_invalid: 'it was made in the future',
}

function modified(verb: string, { leaf, item, signature: found, untrusted }: JudgedLink): KiwiError {
  const { reason, fingerprint } = found
  const signature = item === leaf ? 'its signature' : `the signature of "${item.id}"`
  const what =
    reason === 'text_on_signature_line'
      ? `there is text on the signature line of "${item.id}"`
      : `${signature} does not match its files`
  return new KiwiError('CONTENT_MODIFIED', `Cannot ${verb} "${leaf.id}": ${what}`, {
    // Nobody knows who changed it: an agent that is handed the call that signs it would be the way round the signature.
    hint: `Ask the person to review the change and run: kiwi sign ${item.id}; ${untrusted === null ? '"update" signs too, once they agree' : `what else the project brings needs ${trustCommand(untrusted)}`}`,
    details: { reason, tool: item.id, path: item.path, fingerprint },
  })
}

/** Where signatures are required, what nobody known has signed does not run. */
export function unsignedRefusal(verb: string, leaf: Item, item: Item, why: string): KiwiError {
  return new KiwiError('UNTRUSTED', `Cannot ${verb} "${leaf.id}": "${item.id}" is not signed, and ${why}`, {
    // Signatures stand for a person's look at it: a ready call would be the way round it.
    hint: `Ask the person to review "${item.id}" and sign it: kiwi sign ${item.id}`,
    details: { reason: 'unsigned', tool: item.id, path: item.path },
  })
}

/** The command is one for a person: an agent cannot vouch for what came with a project. */
export function untrustedProject(verb: string, item: Item, projectPath: string | null): KiwiError {
  const path = (projectPath === null ? null : realPathOf(projectPath)) ?? ''
  const command = trustCommand(path)
  return new KiwiError(
    'UNTRUSTED',
    `Cannot ${verb} "${item.id}": nobody has trusted the project "${path}" yet`,
    {
      hint: `Ask the person to review it and run: ${command}`,
      details: { reason: 'project', project: path, command },
    },
  )
}

/** What a person runs, once they have looked at it. */
export function trustCommand(path: string): string {
  return `kiwi trust --project ${shellWord(path)}`
}

function shellWord(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`
}
