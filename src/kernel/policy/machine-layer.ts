import { realPathOfNearest } from './expand-path.ts'
import { plainLayer } from './layer.ts'
import type { Layer, Rule } from './rule.ts'
import { OPERATIONS } from './rule.ts'

/** What of Kiwi itself no tool may touch. */
export interface OwnFiles {
  /** Files and folders. */
  readonly neverWritten: readonly string[]
  readonly neverRead: readonly string[]
  /** What would start Kiwi, besides its name. */
  readonly programs: readonly string[]
}

/** The files themselves, the name one is looked for by mistake, and the folders that they would go with. */
const POLICY_FILES = [
  '**/.ai/config/agent_harness.yaml',
  '**/.ai/config/agent_harness.yml',
  '**/.ai/config/mcp_registry.yaml',
  '**/.ai/config',
  '**/.ai',
]

/** The layer that is always there: Kiwi cannot be turned against itself; the rest is allowed, and recorded. */
export function machineLayer(files: OwnFiles): Layer {
  const neverWritten = bothWays(files.neverWritten)
  const neverRead = bothWays(files.neverRead)
  const programs = bothWays(files.programs)
  const written = 'Only a person changes these files, outside of Kiwi'
  const started = 'Call search, load, execute or help instead of starting kiwi from a tool'
  const rules = [
    own('own-files', { op: 'write', match: { kind: 'under', paths: neverWritten }, remedy: written }),
    own('own-files', { op: 'write', match: { kind: 'around', paths: neverWritten }, remedy: written }),
    // Wherever a project lies: what a tool may do is not for a tool to say.
    own('own-policy', {
      op: 'write',
      match: { kind: 'path', root: '/', globs: POLICY_FILES },
      remedy: written,
    }),
    own('own-secrets', {
      op: 'read',
      match: { kind: 'under', paths: neverRead },
      remedy: 'Nothing that runs through Kiwi reads these files',
    }),
    own('own-program', {
      op: 'exec',
      match: { kind: 'program', names: ['kiwi', 'kiwi-mcp'] },
      remedy: started,
    }),
    own('own-program', { op: 'exec', match: { kind: 'starts', files: programs }, remedy: started }),
    ...OPERATIONS.map((op): Rule => {
      return {
        id: `machine/allow-${op}`,
        op,
        match: { kind: 'any' },
        effect: 'allow',
        remedy: 'Nothing is needed',
      }
    }),
  ]
  return plainLayer({ name: 'machine', source: { kind: 'machine' }, rules }, true)
}

function own(id: string, rule: Omit<Rule, 'id' | 'effect'>): Rule {
  return { id: `machine/${id}`, effect: 'deny', ...rule }
}

/** As they are written, and with their links followed: a demand may say either. */
function bothWays(paths: readonly string[]): readonly string[] {
  return [...new Set(paths.flatMap((path) => [path, realPathOfNearest(path)]))]
}
