import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { registryFile } from '../spaces/server-registry.ts'
import type { OwnPaths } from './line-demands.ts'
import { realPathOfNearest } from './policy/expand-path.ts'
import type { OwnFiles } from './policy/machine-layer.ts'

/** Files of Kiwi itself: no tool changes what decides about tools, or reads what speaks for a person. */
export function ownFiles(config: Config, builtinFolder: string): OwnFiles {
  const { token, key, publicKey, approverKey, heads, trees, vault, userSpace } = config
  // What was asked, answered and kept for undoing lies here: nobody gets at a file by way of its copy.
  const kept = [...['', '-wal', '-shm', '-journal'].map((end) => config.store + end), heads, trees]
  const secrets = [vault.path, vault.keyFile, join(userSpace, '.env')]
  return {
    neverWritten: [
      ...kept,
      token,
      config.file,
      key,
      publicKey,
      approverKey,
      ...secrets,
      join(userSpace, 'config', 'agent_harness.yaml'),
      registryFile(userSpace),
      config.machineHarness,
    ],
    neverRead: [...kept, token, key, approverKey, ...secrets],
    programs: [join(builtinFolder, '..', 'dist', 'cli.js')],
  }
}

/** What decides about a project, wherever it lies. */
const DECIDING = /(?:^|\/)\.ai\/config\/(?:agent_harness|mcp_registry)\.yaml$/

/** The same as a question about one path, links followed. */
export function ownPaths({ neverRead, neverWritten }: OwnFiles): OwnPaths {
  const isWritten = isIn(neverWritten)
  return { isNeverRead: isIn(neverRead), isNeverWritten: (path) => DECIDING.test(path) || isWritten(path) }
}

function isIn(paths: readonly string[]): (path: string) => boolean {
  const real = paths.map(realPathOfNearest)
  return (path) => real.some((own) => path === own || path.startsWith(`${own}/`))
}
