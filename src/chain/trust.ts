import type { Clock } from '../shared/clock.ts'
import type { KiwiError } from '../shared/errors.ts'
import type { Item } from '../spaces/item.ts'
import { isTrustedProject } from '../spaces/trusted-project.ts'
import type { Store } from '../store/store.ts'
import type { JudgedUpstream } from './judge-upstream.ts'
import { isVouchedServer, judgeUpstream } from './judge-upstream.ts'
import type { Refuse } from './trust-refusals.ts'
import { refusalOf, untrustedProject } from './trust-refusals.ts'
import type { Verified, Verify } from './verify.ts'

/** From nobody's word to ours; a run is worth what its weakest link is. */
export const TRUST_NAMES = ['unknown', 'local', 'publisher', 'person', 'builtin'] as const
/** From here on a person, or a publisher they accept, vouches for every link. */
export const VOUCHED = 2
type Level = 0 | 1 | 2 | 3 | 4

/** How far one link of a chain is trusted, and why. */
export interface LinkTrust {
  readonly item: Item
  readonly level: Level
  /** Null for what is shipped, and for a person's own list of servers. */
  readonly signature: Verified | null
  /** Says why it may not take part in what is being done; null when it may. */
  readonly refuse: Refuse | null
}

/** How far a chain is trusted. It depends on content, keys and the project, and is part of the plan. */
export interface Trust {
  readonly level: Level
  readonly links: readonly LinkTrust[]
  /** Why it must not run, or null. */
  readonly refusal: KiwiError | null
  /** The first link that nobody known has signed: refused where signatures are required. */
  readonly unsigned: Item | null
  readonly warnings: readonly string[]
  /** Whether what the project brings beside its items, such as a library, may run with them. */
  readonly isProjectTrusted: boolean
  /** What the definitions of its upstream are kept under; null where there is none. */
  readonly listedUnder: string | null
}

export interface Judge {
  /** `upstream`: where the chain ends in one, what is called there. */
  judge(items: readonly Item[], projectPath: string | null, upstream?: JudgedUpstream): Promise<Trust>
  /** Whether a person lets the items of this project run. */
  isTrusted(projectPath: string): Promise<boolean>
  /** Whether a person, or a publisher they accept, stands behind a server. */
  isVouched(server: Item): Promise<boolean>
}

interface JudgeMeans {
  readonly verify: Verify
  readonly store: Store
  readonly clock: Clock
  readonly userSpace: string
}

export function openJudge({ verify, store, clock, userSpace }: JudgeMeans): Judge {
  const isTrusted = (projectPath: string): Promise<boolean> =>
    isTrustedProject(projectPath, userSpace, () => store.trust.projects())
  return {
    isTrusted,
    async isVouched(item) {
      const { executor } = item.manifest
      if (item.space === 'builtin' || isPersonsEntry(item)) return true
      return isVouchedServer({ item, signature: await verify(item, executor === null ? [] : [executor]) })
    },
    async judge(items, projectPath, upstream) {
      const [leaf] = items
      if (leaf === undefined) throw new TypeError('a chain without links was to be judged')
      const isOfProject = items.some(({ space }) => space === 'project')
      const isProjectTrusted = projectPath === null || !isOfProject || (await isTrusted(projectPath))
      const now = clock.now()
      const judgeLink = async (item: Item, executors: readonly Item[]): Promise<LinkTrust> => {
        if (item.space === 'builtin') return { item, level: 4, signature: null, refuse: null }
        if (isPersonsEntry(item)) return { item, level: 3, signature: null, refuse: null }
        const [server, ...below] = executors
        // What a server lists is worth what the server is, which says itself what stands against it.
        if (item.space === 'mcp' && server !== undefined) {
          const { level } = await judgeLink(server, below)
          return { item, level, signature: null, refuse: null }
        }
        const ids = executors.map(({ id }) => id)
        const signature = await verify(item, ids)
        const untrusted = item.space === 'project' && !isProjectTrusted ? projectPath : null
        // What was made here and changed since is told as that.
        const isChanged = signature.isOwnKey && signature.state === 'unverified'
        const isInert = untrusted !== null && !isOwn(signature) && !isChanged
        const refuse: Refuse | null = isInert
          ? (verb) => untrustedProject(verb, leaf, untrusted)
          : refusalOf({ leaf, item, signature, untrusted }, now)
        return { item, level: levelOf(signature), signature, refuse }
      }
      const links = await Promise.all(items.map((item, at) => judgeLink(item, items.slice(at + 1))))
      const refusal = links.find(({ refuse }) => refuse !== null)?.refuse?.('run') ?? null
      const standing = await judgeUpstream(links, upstream, { projectPath, userSpace, store })
      const noted = links.find(({ signature }) => signature?.state === 'unsigned')
      return {
        level: links.reduce<Level>((lowest, link) => (link.level < lowest ? link.level : lowest), 4),
        links,
        refusal: refusal ?? standing.refusal,
        listedUnder: standing.listedUnder,
        unsigned:
          links.find(({ signature }) => signature !== null && signature.state !== 'signed')?.item ?? null,
        warnings: noted === undefined ? [] : [`"${noted.item.id}" is not signed: runs with the least trust`],
        isProjectTrusted,
      }
    },
  }
}

/** Only a person writes this file, and no tool does. */
function isPersonsEntry({ form, space }: Item): boolean {
  return form === 'entry' && space === 'user'
}

/** What an agent had signed shows who made it and that it is whole; it is no person's word. */
function levelOf({ state, by }: Verified): Level {
  if (state !== 'signed' || by === 'agent') return 1
  return by === 'person' ? 3 : 2
}

/** Made here, by the person or at an agent's request. */
export function isOwn({ by }: Verified): boolean {
  return by === 'person' || by === 'agent'
}
