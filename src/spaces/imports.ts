import { readFile } from 'node:fs/promises'
import { builtinModules } from 'node:module'
import { join } from 'node:path'
import { z } from 'zod'
import { JAVASCRIPT } from './source/dialects.ts'
import { maskJavascript, maskPython } from './source/mask.ts'
import { pythonImports, triedPythonImports } from './source/python-imports.ts'
import { parseDocument } from './parse-document.ts'

/** What turns the imports of a source into names of packages. */
export interface PackageTable {
  /** Packages a source needs: without the standard library, what lies beside it, and what it can do without. */
  importsOf(
    language: 'python' | 'node',
    source: string,
    local: ReadonlySet<string>,
  ): Promise<readonly string[]>
  /** First names of all that a Python source may import, without the standard library. */
  modulesOf(source: string): Promise<readonly string[]>
}

const Table = z.object({ standard: z.array(z.string()), packages: z.record(z.string(), z.string()) })

/** The table is data that is shipped, read when it is first needed. */
export function openPackageTable(builtinFolder: string): PackageTable {
  let table: Promise<Names> | null = null
  const names = (): Promise<Names> =>
    (table ??= readTable(join(builtinFolder, 'config', 'python-packages.yaml')))
  return {
    async importsOf(language, source, local) {
      return language === 'node' ? nodePackages(source, local) : pythonPackages(source, local, await names())
    },
    async modulesOf(source) {
      const { standard } = await names()
      const modules = triedPythonImports(maskPython(source)).map((path) => path.split('.', 1)[0] ?? '')
      return [...new Set(modules)].filter((name) => name !== '' && !standard.has(name))
    },
  }
}

interface Names {
  readonly standard: ReadonlySet<string>
  /** Names of modules that are not those of their packages. */
  readonly packages: ReadonlyMap<string, string>
}

async function readTable(path: string): Promise<Names> {
  const { standard, packages } = Table.parse(await parseDocument(await readFile(path, 'utf8'), path))
  return { standard: new Set(standard), packages: new Map(Object.entries(packages)) }
}

/** Parts of a module's path that are looked at. */
const DEEPEST = 4

function pythonPackages(
  source: string,
  local: ReadonlySet<string>,
  { standard, packages }: Names,
): readonly string[] {
  const needed = pythonImports(maskPython(source)).flatMap((path) => {
    const [module = ''] = path.split('.', 1)
    if (module.startsWith('_') || module === 'lib' || standard.has(module) || local.has(module)) return []
    // The longest name counts: a namespace may hold the modules of several packages.
    const parts = path.split('.', DEEPEST)
    const known = parts.map((_, at) => packages.get(parts.slice(0, parts.length - at).join('.')))
    return [known.find((name) => name !== undefined) ?? module]
  })
  return [...new Set(needed)]
}

const SPECIFIER = /(?<![.\w$])(?:from\s*|import\s*(?:\(\s*)?|require\s*\(\s*)(?=")/g
const BUILTIN: ReadonlySet<string> = new Set(builtinModules)
/** Names in front of `from` are hardly ever more. */
const LONGEST_CLAUSE = 2000

function nodePackages(source: string, local: ReadonlySet<string>): readonly string[] {
  const { code } = maskJavascript(source)
  const needed: string[] = []
  for (const found of code.matchAll(SPECIFIER)) {
    const at = found.index + found[0].length
    const name = JAVASCRIPT.string(source, at)?.value ?? ''
    const isType = found[0].startsWith('from') && isTypeClause(code, at)
    const [scope = '', second = ''] = name.split('/')
    const isForeign = name === '' || /^[./#]|:/.test(name)
    if (isType || isForeign || BUILTIN.has(scope) || local.has(scope)) continue
    needed.push(scope.startsWith('@') ? `${scope}/${second}` : scope)
  }
  return [...new Set(needed)]
}

/** Types are gone before anything is run. */
function isTypeClause(code: string, end: number): boolean {
  const before = code.slice(Math.max(0, end - LONGEST_CLAUSE), end)
  const start = Math.max(before.lastIndexOf('import'), before.lastIndexOf('export'))
  return /^(?:import|export)\s+type\b(?!\s*,|\s+from)/.test(before.slice(Math.max(start, 0)))
}
