import { isAbsolute } from 'node:path'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { createRedact, keepAll } from '../shared/redact.ts'
import { assertSecretName, assertSecretValue } from '../store/vault/secrets.ts'
import { assertPerson } from './assert-person.ts'
import type { Ticket, Wish, Work } from './call.ts'
import type { Means } from './means.ts'

/** Arguments of a program that gives a secret, and characters of them all. */
const MOST_ARGUMENTS = 64
const MOST_CHARACTERS = 8 * 1024

/** What a person does to the vault, but for how. */
function personsWork(action: string, parameters: JsonObject): Omit<Work, 'redact' | 'perform'> {
  return {
    item: { id: 'kiwi-mcp', version: null, space: null },
    action,
    chain: [],
    demands: [{ op: 'tool', id: 'kiwi-mcp', action }],
    isRepeatable: false,
    isReadOnly: false,
    parameters,
    preview: () => parameters,
    warnings: [],
  }
}

/** A person keeps a secret in the vault, or takes it out. The record holds its name. */
export async function secretWork(
  { name, value }: Extract<Wish, { kind: 'secret' }>,
  ticket: Ticket,
  { secrets: { vault } }: Means,
): Promise<Work> {
  assertPerson(ticket, 'secret')
  assertSecretName(name)
  if (value !== null) assertSecretValue(name, value)
  return {
    ...personsWork(value === null ? 'secret.rm' : 'secret.set', { name }),
    redact: value === null ? (shown) => shown : createRedact(new Map([[name, value]])),
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

/** A person names the program that gives a secret. It is found now, and not run: whatever comes to lie on the PATH later is not it. */
export async function secretCommandWork(
  { name, argv }: Extract<Wish, { kind: 'secret_command' }>,
  ticket: Ticket,
  { secrets: { vault }, chain }: Means,
): Promise<Work> {
  assertPerson(ticket, 'secret')
  assertSecretName(name)
  assertArgv(name, argv)
  const [command = '', ...args] = argv
  const program = chain.programPath(command)
  if (program === null) throw programMissing(name, command)
  const pinned = [program, ...args]
  return {
    ...personsWork('secret.set', { name, command: pinned }),
    redact: keepAll,
    async perform() {
      await vault.set(name, pinned)
      return {
        data: { output: `${name} is what the program gives`, name, command: pinned, key: vault.keyKind() },
        warnings: [],
      }
    },
  }
}

function assertArgv(name: string, argv: readonly string[]): void {
  const size = argv.reduce((sum, { length }) => sum + length, 0)
  const reason =
    argv.length === 0
      ? 'no program is named'
      : argv.length > MOST_ARGUMENTS || size > MOST_CHARACTERS
        ? `it has more than ${MOST_ARGUMENTS} arguments or ${MOST_CHARACTERS} characters`
        : argv.some((word) => word.includes('\0'))
          ? 'it holds a character that no argument can'
          : null
  if (reason === null) return
  throw new KiwiError('INVALID_PARAMETERS', `Cannot set the program that gives ${name}: ${reason}`, {
    hint: `kiwi secret set ${name} --command -- PROGRAM ARGUMENT...`,
    details: { missing: [], invalid: [{ name: 'command', reason }] },
  })
}

function programMissing(name: string, command: string): KiwiError {
  const isRelative = command.includes('/') && !isAbsolute(command)
  const reason = isRelative ? 'its path is relative' : 'it is not on the PATH, or may not be executed'
  return new KiwiError('COMMAND_NOT_FOUND', `Cannot set "${command}" as what gives ${name}: ${reason}`, {
    hint: 'Install the program, or give its whole path',
    details: { command },
  })
}
