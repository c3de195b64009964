import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '../../src/meta/meta.ts'
import { parseItemRef } from '../../src/shared/ids.ts'
import { sha256 } from '../../src/shared/json.ts'
import type { Reply } from '../../src/shared/reply.ts'
import { unsignedText, withSignature } from '../../src/spaces/signature-line.ts'
import { statementOf } from '../../src/spaces/statement.ts'
import type { TempKiwi } from '../temp-kiwi.ts'

/** A person at the same Kiwi as the agent of the test. */
export function person({ project }: TempKiwi): Client {
  return {
    principal: 'user:me',
    session: 's',
    kind: 'person',
    defaultProject: () => Promise.resolve(project),
  }
}

export function signAs(
  temp: TempKiwi,
  kind: 'agent' | 'person',
  itemId: string,
  more: object = {},
): Promise<Reply> {
  const client = { ...person(temp), kind }
  return temp.kiwi.call('execute', { item_type: 'tool', action: 'sign', item_id: itemId, ...more }, client)
}

/** A script of the project that says all an item must say. */
export function bashTool(temp: TempKiwi, id: string, code: string, more = ''): string {
  const manifest = `tool_type: script\nexecutor: bash_runtime\nversion: 1.0.0\ndescription: ${id}\n${more}`
  temp.write(`tools/${id}/main.sh`, `#!/bin/bash\n${code}`)
  return temp.write(`tools/${id}/tool.yaml`, manifest)
}

interface Signer {
  readonly pem: string
  readonly publicKey: string
  readonly fingerprint: string
}

/** Somebody with a key of their own. */
export function stranger(): Signer {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const raw = Buffer.from(String(publicKey.export({ format: 'jwk' }).x), 'base64url')
  return {
    pem: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    publicKey: raw.toString('base64'),
    fingerprint: sha256(raw).slice(0, 16),
  }
}

/** The key that Kiwi made for the person. */
export function ownSigner({ config }: TempKiwi): Pick<Signer, 'pem' | 'fingerprint'> {
  const pem = readFileSync(config.key, 'utf8')
  const spki = readFileSync(config.publicKey, 'utf8')
  const der = Buffer.from(spki.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64')
  return { pem, fingerprint: sha256(der.subarray(12)).slice(0, 16) }
}

/** Signs a tool of the project as another program would, with whatever time it likes. */
export async function signByHand(
  temp: TempKiwi,
  id: string,
  { pem, fingerprint }: Pick<Signer, 'pem' | 'fingerprint'>,
  time = '2026-01-28T12:34:56Z',
): Promise<void> {
  const path = join(temp.project, '.ai/tools', id, 'tool.yaml')
  const lookup = temp.kiwi.spaces.at(temp.project)
  lookup.freshen(true)
  const item = await lookup.find(parseItemRef(id), 'tool')
  if (item === null) throw new Error(`no ${id}`)
  const statement = statementOf({
    item,
    files: await item.files(),
    executors: ['bash_runtime', 'subprocess'],
    by: 'person',
    created: time,
  })
  const text = unsignedText(readFileSync(path, 'utf8'), path)
  const signature = sign(null, Buffer.from(statement), createPrivateKey(pem)).toString('base64url')
  const lines = [
    `# kiwi-mcp:validated:${time}:${sha256(text)}`,
    `# kiwi-mcp:signed:${time}:${sha256(text)}:${signature}:${fingerprint}`,
  ]
  writeFileSync(path, withSignature(text, lines, path))
}
