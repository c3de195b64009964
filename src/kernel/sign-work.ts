import { isEarly } from '../chain/trust-refusals.ts'
import { placeOf } from '../chain/verify.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { sha256 } from '../shared/json.ts'
import { keepAll } from '../shared/redact.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { missingFields } from '../spaces/required-fields.ts'
import { stripSignatures } from '../spaces/signature-line.ts'
import { signedFileName, signedTextOf } from '../spaces/signed-text.ts'
import type { SignedBy } from '../spaces/statement.ts'
import { rewriteFile } from '../spaces/write.ts'
import type { Ticket, Wish, Work } from './call.ts'
import { itemWrites } from './item-writes.ts'
import type { Means } from './means.ts'
import type { RuleCheck } from './rule-check.ts'
import { ruleCheck } from './rule-check.ts'
import { signTargets } from './sign-targets.ts'
import { mayVouch } from './vouch.ts'

/** Items to be signed: each is checked first, and one that cannot be signed keeps no other from it. */
export async function signWork(
  wish: Extract<Wish, { kind: 'sign' }>,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Work> {
  lookup.freshen(true)
  const { items, faults } = await signTargets(wish, lookup)
  const by = ticket.caller.kind
  const isMany = 'pattern' in wish.target
  const [only] = items
  // Of one item everything is known before anything is decided.
  if (!isMany && only !== undefined) await check(only, by, lookup, means)
  const rulesOf = async (item: Item): Promise<RuleCheck> =>
    ruleCheck(await means.chain.resolver.plan(item, lookup), { action: 'sign', ticket, lookup, means })
  const rules = new Map<Item, RuleCheck | KiwiError>()
  for (const item of items) {
    rules.set(item, await rulesOf(item).catch((error: unknown) => unlessOne(isMany, error)))
  }
  const link =
    isMany || only === undefined
      ? { id: ticket.subject, version: null, space: wish.location }
      : { id: only.id, version: only.manifest.version, space: only.space }
  const paths = items.flatMap(({ path }) => (path === null ? [] : [path]))
  return {
    item: link,
    action: 'sign',
    chain: [link],
    demands: [
      { op: 'tool', id: link.id, action: 'sign' },
      ...itemWrites(paths, ticket),
      ...[...rules.values()].flatMap((asked) => (asked instanceof KiwiError ? [] : asked.demands)),
    ],
    isRepeatable: true,
    isReadOnly: false,
    parameters: { items: items.map(({ id, contentHash }) => ({ tool_id: id, content_hash: contentHash })) },
    redact: keepAll,
    preview: () => ({
      would_sign: items.map(({ id, path }) => ({ tool_id: id, path })),
      ...(only === undefined || isMany ? {} : judged(rules.get(only)).preview()),
    }),
    warnings: [],
    async perform(watch) {
      const signOne = (item: Item): Promise<JsonObject> => {
        const validate: Signing['validate'] = async () => {
          const asked = judged(rules.get(item))
          return [...asked.warnings, ...(await asked.check(watch?.signal))]
        }
        return sign(item, { by, lookup, means, validate })
      }
      if (!isMany && only !== undefined) return { data: await signOne(only), warnings: [] }
      const results: JsonObject[] = []
      for (const item of items) {
        results.push(await signOne(item).catch((error: unknown) => failed(item.id, error)))
      }
      results.push(...faults.map(({ path, reason }) => ({ ...FAILED, tool_id: path, path, error: reason })))
      lookup.freshen(true)
      const counts = ['signed', 'unchanged', 'failed'].map(
        (status) => `${results.filter((result) => result['status'] === status).length} ${status}`,
      )
      return { data: { output: counts.join(', '), results }, warnings: [] }
    },
  }
}

const FAILED = { action: 'sign', status: 'failed' }

function failed(id: string, error: unknown): JsonObject {
  if (!(error instanceof KiwiError)) throw error
  return { ...FAILED, tool_id: id, error: error.message, code: error.code, hint: error.hint }
}

/** What stands against signing it. */
async function check(item: Item, by: SignedBy, lookup: Lookup, means: Means): ReturnType<typeof mayVouch> {
  if (item.space === 'builtin') {
    throw new KiwiError('BUILTIN_PROTECTED', `Cannot sign "${item.id}": it is shipped with Kiwi`, {
      hint: 'What is shipped needs no signature',
    })
  }
  const missing = missingFields(item)
  if (missing.length > 0) {
    const faults = missing.map(({ name, reason }) => `"${name}" ${reason}`).join(', ')
    throw new KiwiError('INVALID_MANIFEST', `Cannot sign "${item.id}": ${faults}`, {
      hint: 'Declare what is missing: an item that is signed says all of it itself',
      details: { invalid: missing },
    })
  }
  return mayVouch(item, { verb: 'sign', by, lookup, means })
}

/** Of many, each says by itself what stands against it. */
function unlessOne(isMany: boolean, error: unknown): KiwiError {
  if (isMany && error instanceof KiwiError) return error
  throw error
}

/** Only what was decided on is started: rules that could not be worked out by then are not asked later. */
function judged(asked: RuleCheck | KiwiError | undefined): RuleCheck {
  if (asked === undefined) throw new TypeError('an item came to be signed that nobody asked for')
  if (asked instanceof KiwiError) throw asked
  return asked
}

interface Signing {
  readonly by: SignedBy
  readonly lookup: Lookup
  readonly means: Means
  /** Gives warnings, or refuses. */
  readonly validate: () => Promise<readonly string[]>
}

async function sign(item: Item, { by, lookup, means, validate }: Signing): Promise<JsonObject> {
  const { executors, verified } = await check(item, by, lookup, means)
  const place = placeOf(item)
  const before = place === null ? signedTextOf(item, await item.files()) : null
  const result = (
    status: 'signed' | 'unchanged',
    text: string | null,
    warnings: readonly string[] = [],
  ): JsonObject => ({
    output: `${status === 'signed' ? 'Signed' : 'Already signed:'} "${item.id}"`,
    tool_id: item.id,
    action: 'sign',
    status,
    signature: text === null ? null : lineOf(text),
    hash: text === null ? item.contentHash : sha256(stripSignatures(text, signedFileName(item))),
    path: item.path,
    warnings,
  })
  // A person's word counts more than an agent's, so it is put in its place; nothing else is signed twice.
  const isKept = verified.by === 'person' || verified.by === by
  if (isKept && !isEarly(verified, means.clock.now())) return result('unchanged', before)
  const found = await validate()
  if (place !== null) {
    const stamp = await means.signer.stamp(item, executors, by)
    await means.store.trust.sign({ place, content_hash: item.contentHash, ...stamp })
    return result('signed', null, found)
  }
  if (item.path === null || before === null) throw noRoom(item)
  const signed = await means.signer.sign(item, executors, by)
  const text = signedTextOf({ ...item, text: signed.text }, signed.files) ?? before
  const within = item.space === 'user' ? null : lookup.projectPath
  await rewriteFile({ path: item.path, within, before, text }, (work) => means.store.exclusively(work))
  return result('signed', text, [...found, ...signed.warnings])
}

function noRoom({ id, path }: Item): KiwiError {
  return new KiwiError(
    'PARSE_ERROR',
    `Cannot sign "${id}": "${path}" has no room for a line, as it is not UTF-8`,
  )
}

function lineOf(text: string): string | null {
  return text.split(/\r?\n/, 2).find((line) => line.includes('kiwi-mcp:validated:')) ?? null
}
