import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { createRedact } from '../shared/redact.ts'
import { assertSecretName, assertSecretValue } from '../store/vault/secrets.ts'
import { assertPerson } from './assert-person.ts'
import type { Ticket, Wish, Work } from './call.ts'
import type { Means } from './means.ts'

/** A person keeps a secret in the vault, or takes it out. The record holds its name. */
export async function secretWork(
  { name, value }: Extract<Wish, { kind: 'secret' }>,
  ticket: Ticket,
  { secrets: { vault } }: Means,
): Promise<Work> {
  assertPerson(ticket, 'secret')
  assertSecretName(name)
  if (value !== null) assertSecretValue(name, value)
  const action = value === null ? 'secret.rm' : 'secret.set'
  return {
    item: { id: 'kiwi-mcp', version: null, space: null },
    action,
    chain: [],
    demands: [{ op: 'tool', id: 'kiwi-mcp', action }],
    isRepeatable: false,
    isReadOnly: false,
    parameters: { name },
    redact: value === null ? (shown) => shown : createRedact(new Map([[name, value]])),
    preview: () => ({ name }),
    warnings: [],
    async perform() {
      const data: JsonObject = value === null ? await remove() : await set(value)
      return { data, warnings: [] }
    },
  }

  async function set(text: string): Promise<JsonObject> {
    await vault.set(name, text)
    return { output: `Kept ${name} in the vault`, name, key: vault.keyKind() }
  }

  async function remove(): Promise<JsonObject> {
    if (await vault.remove(name)) return { output: `Removed ${name} from the vault`, name }
    throw new KiwiError('NOT_FOUND', `Cannot remove "${name}": it is not in the vault`, {
      hint: 'kiwi secret list shows what is',
    })
  }
}
