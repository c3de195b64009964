import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Script } from 'node:vm'
import type * as main from '../src/cli.ts'
import type * as index from '../src/index.ts'

/** The files that are shipped and begin something; the others are loaded by them. */
interface Entries {
  readonly 'main.js': typeof main
  readonly 'index.js': typeof index
}

interface Bundle {
  /** What a file exports. It is run once, with what the engine has compiled of it before. */
  readonly load: <File extends keyof Entries>(file: File) => Entries[File]
  /** What was run, by path. */
  readonly scripts: ReadonlyMap<string, Script>
}

/** What the engine has compiled of a file lies beside it. What another engine made is not taken, and the file compiled anew. */
export const compiledOf = (path: string): string => `${path}.compiled`

/** `require` finds what does not belong to the bundle. */
export function openBundle(folder: string, require: (name: string) => unknown): Bundle {
  const modules = new Map<string, { readonly exports: object }>()
  const scripts = new Map<string, Script>()
  const load = (file: string): object => {
    const known = modules.get(file)
    if (known !== undefined) return known.exports
    const path = join(folder, file)
    const text = `(function (exports, require, module, __filename, __dirname) {${readFileSync(path, 'latin1')}\n})`
    const script = new Script(text, { filename: path, cachedData: readCompiled(path) })
    const module = { exports: {} }
    modules.set(file, module)
    scripts.set(path, script)
    script.runInThisContext()(module.exports, find, module, path, folder)
    return module.exports
  }
  const find = (name: string): unknown => (name.startsWith('./') ? load(name.slice(2)) : require(name))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what was bundled exports what its source does
  return { load: (file) => load(file) as never, scripts }
}

function readCompiled(path: string): Buffer | undefined {
  try {
    return readFileSync(compiledOf(path))
  } catch {
    return undefined
  }
}
