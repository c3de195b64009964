import type { Publisher } from '../config/config.ts'
import { itemTypeOf } from '../shared/tool-type.ts'
import type { Item } from '../spaces/item.ts'
import type { KnownPublisher } from '../spaces/publishers.ts'
import { readPublishers } from '../spaces/publishers.ts'
import type { KeySignature, SignatureRead } from '../spaces/signature-line.ts'
import { readSignature } from '../spaces/signature-line.ts'
import { signedFileName, signedTextOf } from '../spaces/signed-text.ts'
import type { OwnKey, PublicKey } from '../spaces/signing-key.ts'
import type { SignedBy } from '../spaces/statement.ts'
import { statementOf } from '../spaces/statement.ts'
import type { Store } from '../store/store.ts'
import { filesAsRead } from './files-as-read.ts'

/** What the signature of an item is worth. */
export interface Verified {
  /** `signed`: by the person's own key or by a known publisher; the others are those of the line. */
  readonly state: SignatureRead['state'] | 'signed'
  /** Whose word it is: the name of a publisher, or whoever asked for a signature of our own key. */
  readonly by: SignedBy | { readonly publisher: string } | null
  readonly fingerprint: string | null
  /** Whether it says to be made with the person's own key, be it true or not. */
  readonly isOwnKey: boolean
  readonly time: string | null
  /** Why it is not trusted, or not what was signed. */
  readonly reason: 'key_revoked' | 'key_scope' | 'hash' | 'signature' | 'text_on_signature_line' | null
}

/** Checks what an item says of itself against its bytes; `executors` are the ids of the chain below it. */
export type Verify = (item: Item, executors: readonly string[]) => Promise<Verified>

export interface VerifyMeans {
  readonly ownKey: OwnKey
  readonly publishers: readonly Publisher[]
  readonly store: Store
}

export function openVerify(means: VerifyMeans): Verify {
  const publishers = readPublishers(means.publishers)
  return async (item, executors) => {
    const { key, state, time, findings } = await signatureOf(item, means.store)
    // A key that nobody knows says nothing, neither for nor against the item.
    const ours = key?.family === 'kiwi-mcp' ? key : null
    const own = ours === null ? null : means.ownKey.read()
    const isOwnKey = own !== null && own.fingerprint === ours?.fingerprint
    const fingerprint = key?.fingerprint ?? null
    const base: Verified = { state, time, fingerprint, isOwnKey, by: null, reason: null }
    if (state === 'unverified') return { ...base, reason: whyNot(findings) }
    if (ours === null) return base
    const publisher = publishers.get(ours.fingerprint)
    if (publisher !== undefined && !isOwnKey)
      return { ...base, ...(await ofPublisher(publisher, item, executors, ours)) }
    if (!isOwnKey) return base
    const by = await signerOf(own, item, executors, ours)
    return by === null ? { ...base, ...FORGED } : { ...base, state: 'signed', by }
  }
}

function whyNot(findings: readonly string[]): Verified['reason'] {
  return findings.length > 0 ? 'text_on_signature_line' : 'hash'
}

async function ofPublisher(
  publisher: KnownPublisher,
  item: Item,
  executors: readonly string[],
  key: KeySignature,
): Promise<Partial<Verified>> {
  if (publisher.isRevoked) return { reason: 'key_revoked' }
  if (!publisher.covers(item)) return { reason: 'key_scope' }
  const isSigned = (await signerOf(publisher, item, executors, key)) !== null
  return isSigned ? { state: 'signed', by: { publisher: publisher.name } } : FORGED
}

const FORGED = { state: 'unverified', reason: 'signature' } as const

/** It is not on the line who asked for the signature, so each is tried. */
async function signerOf(
  publicKey: PublicKey,
  item: Item,
  executors: readonly string[],
  { time: created, signature }: KeySignature,
): Promise<SignedBy | null> {
  const files = await filesAsRead(item)
  const isSignedBy = (by: SignedBy): boolean =>
    publicKey.verify(statementOf({ item, files, executors, by, created }), signature)
  return SIGNERS.find(isSignedBy) ?? null
}

const SIGNERS: readonly SignedBy[] = ['person', 'agent']

/** Where the signature of an item without room for a line is kept. */
export function placeOf({ id, path, manifest, contentHash: hash, space }: Item): string | null {
  if (path !== null) return path.endsWith('.json') ? path : null
  return space === 'registry' ? `registry:${id}@${manifest.version}:${hash}` : null
}

async function signatureOf(item: Item, store: Store): Promise<SignatureRead> {
  const itemType = itemTypeOf(item.manifest.tool_type)
  const subject = { itemType, raw: item.raw, fileName: signedFileName(item) }
  const isCarried = item.text === null && item.raw['_file'] !== undefined
  const files = isCarried ? await item.files() : []
  const read = readSignature(signedTextOf(item, files) ?? '', subject)
  const place = placeOf(item)
  const stored = place === null ? null : await store.trust.signature(place)
  if (stored === null) return read
  const { time, signature, fingerprint, content_hash: hash } = stored
  const isSame = hash === item.contentHash
  return {
    state: isSame ? 'validated' : 'unverified',
    generation: isSame ? 'kiwi' : null,
    time,
    hash,
    key: { family: 'kiwi-mcp', time, hash, signature, fingerprint },
    findings: [],
  }
}
