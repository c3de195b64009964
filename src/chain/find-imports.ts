import { LIMITS } from '../shared/limits.ts'
import type { PackageTable } from '../spaces/imports.ts'
import type { ItemFile } from '../store/store.ts'
import type { FindImports } from './gather-requirements.ts'

/** The files of a language, and whether a name alone may mean a file beside. */
const LANGUAGES = {
  python: { source: /\.py$/, isBeside: true },
  node: { source: /\.[cm]?[jt]s$/, isBeside: false },
} as const

/** Looks through the sources of a tool for packages. What cannot be read as text imports nothing. */
export function createFindImports(table: PackageTable): FindImports {
  return async (language, files, { library, siblings }) => {
    if (language !== 'python' && language !== 'node') return []
    const { source, isBeside } = LANGUAGES[language]
    const local = new Set(isBeside ? [...library, ...siblings, ...files.flatMap(modulesOf)] : library)
    const found = new Set<string>()
    for (const { path, content } of files) {
      if (!source.test(path) || content.length > LIMITS.itemBytes) continue
      const text = Buffer.from(content).toString('utf8')
      for (const name of await table.importsOf(language, text, local)) found.add(name)
    }
    return [...found]
  }
}

/** Every part of its path may be what an import begins with: a script can add any of its folders to the search. */
function modulesOf({ path }: ItemFile): readonly string[] {
  return path.split('/').map((part) => part.replace(/\.\w+$/, ''))
}
