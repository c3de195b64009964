import { dirname } from 'node:path'
import { list } from '../spaces/disk.ts'
import type { Item } from '../spaces/item.ts'
import type { ItemFile } from '../store/store.ts'
import type { PackagePlan } from './environment-plan.ts'
import { filesAsRead } from './files-as-read.ts'
import type { Library } from './library.ts'
import type { Plan } from './plan.ts'
import type { Requirement } from './requirements.ts'
import { assertFew, readRequirement, readRequirementFile } from './requirements.ts'

/** The packages that files import, without what is theirs or the language's own. */
export type FindImports = (
  language: string,
  files: readonly ItemFile[],
  local: LocalModules,
) => Promise<readonly string[]>

/** Names that mean no package here: of the library, and of files that lie beside a script. */
interface LocalModules {
  readonly library: readonly string[]
  readonly siblings: readonly string[]
}

export type GatherRequirements = (
  plan: Plan,
  library: Library | null,
) => readonly Requirement[] | Promise<readonly Requirement[]>

const NONE: readonly Requirement[] = []
/** Answers that are kept for one content: they differ only by what lies around it. */
const MOST_KEPT = 8

/**
 * What a tool needs: what its manifests and its own list name, and only when neither says anything, what it imports.
 * Files are read once for each content; after that the answer is there at once.
 */
export function createGatherRequirements(findImports: FindImports): GatherRequirements {
  const known = new WeakMap<PackagePlan, Map<string, readonly Requirement[]>>()

  const gather = async (
    { item }: Plan,
    packages: PackagePlan,
    local: LocalModules | null,
  ): Promise<readonly Requirement[]> => {
    const { file, format, language, required } = packages
    const files = await filesAsRead(item)
    const found =
      local === null
        ? readRequirementFile(textAt(files, file), format, item.id)
        : (await findImports(language ?? '', files, local)).map((name) =>
            readRequirement(name, format, item.id),
          )
    return assertFew(unique([...required, ...found], format), item.id)
  }

  return (plan, library) => {
    const packages = plan.effect.kind === 'subprocess' ? (plan.effect.environment?.packages ?? null) : null
    if (packages === null) return NONE
    const isListed = plan.item.filePaths.includes(packages.file)
    if (!isListed && (packages.isDeclared || packages.language === null || !plan.hasFiles))
      return packages.required
    const local = isListed ? null : { library: library?.modules ?? [], siblings: siblingsOf(plan.item) }
    const key = local === null ? '' : [...local.library, '', ...local.siblings].join()
    const kept = known.get(packages) ?? new Map<string, readonly Requirement[]>()
    known.set(packages, kept)
    return (
      kept.get(key) ??
      gather(plan, packages, local).then((all) => {
        if (kept.size >= MOST_KEPT) kept.clear()
        kept.set(key, all)
        return all
      })
    )
  }
}

/** Files beside a script are its neighbours', not packages, whatever they are called. */
function siblingsOf({ path }: Item): readonly string[] {
  return path === null ? [] : list(dirname(path)).map(({ name }) => name.replace(/\.\w+$/, ''))
}

function textAt(files: readonly ItemFile[], path: string): string {
  const file = files.find((candidate) => candidate.path === path)
  return file === undefined ? '' : Buffer.from(file.content).toString('utf8')
}

/** In an object a name stands once, and the tool's own list has the last word; in lines every bound counts. */
function unique(all: readonly Requirement[], format: PackagePlan['format']): readonly Requirement[] {
  const keyed = all.map((one) => [format === 'object' ? one.name : `${one.name}${one.version}`, one] as const)
  return [...new Map(keyed).values()]
}
