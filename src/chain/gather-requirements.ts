import type { ItemFile } from '../store/store.ts'
import type { PackagePlan } from './environment-plan.ts'
import type { Library } from './library.ts'
import type { Plan } from './plan.ts'
import type { Requirement } from './requirements.ts'
import { readRequirement, readRequirementFile } from './requirements.ts'

/** The packages that files import, without what is theirs or the language's own. */
export type FindImports = (
  language: string,
  files: readonly ItemFile[],
  local: ReadonlySet<string>,
) => readonly string[] | Promise<readonly string[]>

export type GatherRequirements = (
  plan: Plan,
  library: Library | null,
) => readonly Requirement[] | Promise<readonly Requirement[]>

const NONE: readonly Requirement[] = []

/**
 * What a tool needs: what its manifests and its own list name, and only when neither says anything, what it imports.
 * Files are read once for each content; after that the answer is there at once.
 */
export function createGatherRequirements(findImports: FindImports): GatherRequirements {
  const known = new WeakMap<PackagePlan, Map<string, readonly Requirement[]>>()
  return (plan, library) => {
    const packages = plan.effect.kind === 'subprocess' ? (plan.effect.environment?.packages ?? null) : null
    if (packages === null) return NONE
    const { item } = plan
    const isListed = item.filePaths.includes(packages.file)
    const { language } = packages
    if (!isListed && (packages.isDeclared || language === null || !plan.hasFiles)) return packages.required
    const kept = known.get(packages) ?? new Map<string, readonly Requirement[]>()
    known.set(packages, kept)
    const key = library?.bundle.contentHash ?? ''
    const before = kept.get(key)
    if (before !== undefined) return before
    const gather = async (): Promise<readonly Requirement[]> => {
      const files = await item.files()
      const found = isListed
        ? readRequirementFile(textAt(files, packages.file), packages.format, item.id)
        : (await findImports(language ?? '', files, library?.modules ?? new Set())).map((name) =>
            readRequirement(name, packages.format, item.id),
          )
      const all = unique([...packages.required, ...found], packages)
      kept.set(key, all)
      return all
    }
    return gather()
  }
}

function textAt(files: readonly ItemFile[], path: string): string {
  const file = files.find((candidate) => candidate.path === path)
  return file === undefined ? '' : Buffer.from(file.content).toString('utf8')
}

/** In an object a name stands once, and the tool's own list has the last word; in lines every bound counts. */
function unique(all: readonly Requirement[], { format }: PackagePlan): readonly Requirement[] {
  const keyed = all.map((one) => [format === 'object' ? one.name : `${one.name}${one.version}`, one] as const)
  return [...new Map(keyed).values()]
}
