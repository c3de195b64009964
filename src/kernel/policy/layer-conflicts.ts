import { canonicalJson } from '../../shared/json.ts'
import type { Harness } from '../../spaces/harness.ts'
import type { PathContext } from './expand-path.ts'
import { expandPath } from './expand-path.ts'
import { groupsOf } from './harness-groups.ts'

/** One file allows by name what another one denies: the stricter holds, and somebody may wonder. */
export interface PolicyConflict {
  /** `the program "curl"` */
  readonly what: string
  /** File and line. */
  readonly allowedAt: string
  readonly deniedAt: string
}

/** Only what is named in both is compared; that a list leaves something out is what lists are for. */
export function layerConflicts(files: readonly Harness[], context: PathContext): readonly PolicyConflict[] {
  const said = files.flatMap((file) => sayingsOf(file, context))
  return said
    .filter(({ isAllowed }) => isAllowed)
    .flatMap((one) => {
      const other = said.find(
        ({ isAllowed, key, file }) => !isAllowed && key === one.key && file !== one.file,
      )
      return other === undefined ? [] : [{ what: one.what, allowedAt: one.at, deniedAt: other.at }]
    })
}

interface Saying {
  readonly key: string
  readonly what: string
  readonly isAllowed: boolean
  readonly file: string
  readonly at: string
}

type Place = readonly PropertyKey[]

function sayingsOf(harness: Harness, context: PathContext): readonly Saying[] {
  const { content, path: file, at } = harness
  if (content === null) return []
  const { filesystem, shell, git, mcps } = groupsOf(content)
  const say = (what: string, isAllowed: boolean, place: Place, key = what): Saying => ({
    key,
    what,
    isAllowed,
    file,
    at: `${file}:${at(place).line}`,
  })
  const each = (
    values: readonly string[] = [],
    one: (value: string, at: number) => Saying,
  ): readonly Saying[] => values.map(one)
  const root = (group: 'git' | 'mcps', name?: string): Place => {
    const top: object | undefined = content[group]
    const isAtTop = top !== undefined && (name === undefined || Object.hasOwn(top, name))
    return [...(isAtTop ? [] : ['internal_tools']), group, ...(name === undefined ? [] : [name])]
  }
  const files = ['internal_tools', 'filesystem']
  const programs = ['internal_tools', 'shell']
  const pathKey = (text: string): string => `write ${canonicalJson(expandPath(text, context) ?? text)}`
  return [
    ...each(shell?.allowed_commands, (name, n) =>
      say(`the program "${name}"`, true, [...programs, 'allowed_commands', n]),
    ),
    ...each(shell?.blocked_commands, (name, n) =>
      say(`the program "${name}"`, false, [...programs, 'blocked_commands', n]),
    ),
    ...each(filesystem?.allowed_paths, (text, n) =>
      say(`writing to "${text}"`, true, [...files, 'allowed_paths', n], pathKey(text)),
    ),
    ...each(filesystem?.read_only_paths, (text, n) =>
      say(`writing to "${text}"`, false, [...files, 'read_only_paths', n], pathKey(text)),
    ),
    ...(git === undefined ? [] : [say('the tools of git', git.enabled, root('git'))]),
    ...Object.entries(mcps ?? {}).map(([name, { enabled }]) =>
      say(`the server "${name}"`, enabled, root('mcps', name)),
    ),
    ...content.rules.flatMap(({ op, match, when, effect }, n): readonly Saying[] => {
      if (effect === 'ask') return []
      const key = canonicalJson({ op, match, when: when ?? null })
      return [say(`${op} ${canonicalJson(match)}`, effect === 'allow', ['rules', n], key)]
    }),
  ]
}
