import { statSync } from 'node:fs'
import type { Kiwi } from '../kiwi.ts'
import { toKiwiError } from '../meta/reply.ts'
import type { Finding } from './finding.ts'

/** Whether the vault can be opened here, and only by its owner. */
export async function vaultFinding({ config, secrets: list }: Kiwi): Promise<Finding> {
  const name = 'vault'
  const { path, keyFile } = config.vault
  for (const file of [path, keyFile]) {
    if (((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) === 0) continue
    const detail = `${file} can be read by others`
    return { name, state: 'fail', code: 'INVALID_CONFIG', detail, fix: `chmod 600 ${file}` }
  }
  try {
    const { key, secrets } = await list()
    if (key === null) return { name, state: 'ok', detail: 'made at the first kiwi secret set' }
    const where = { keychain: 'the keychain', passphrase: 'KIWI_VAULT_PASSPHRASE', file: keyFile }[key]
    return { name, state: 'ok', detail: `${secrets.length} in ${path}, opened by ${where}` }
  } catch (error) {
    const { code, message, hint } = toKiwiError(error)
    return { name, state: 'fail', code, detail: message, fix: hint }
  }
}
