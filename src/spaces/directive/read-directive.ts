import { isJsonObject } from '../../shared/json.ts'
import type { Item } from '../item.ts'
import { permissionsOf } from './from-matter.ts'
import type { Directive } from './model.ts'
import { parseDirective } from './parse-directive.ts'
import { readInputs } from './inputs.ts'

/** The file that holds the text of a directive. */
const FILE = 'directive.md'

/** A directive as every dialect means it. One that cannot be read is a PARSE_ERROR with its line and column. */
export async function readDirective(item: Item): Promise<Directive> {
  const { id, path, raw, manifest } = item
  const { directive, given } = await parseDirective(await textOfDirective(item), {
    where: path ?? id,
    stem: id,
    isSkill: raw['_file'] === 'SKILL.md',
  })
  // One that is a manifest with a text beside it says there what it takes and may do.
  const { config } = manifest
  const at = (): { line: number; column: number } => ({ line: 1, column: 1 })
  const isDeclared = Object.keys(given).length > 0 || !isJsonObject(config['permissions'] ?? null)
  const inputs = directive.inputs.length > 0 ? directive.inputs : fromManifest(item)
  return {
    ...directive,
    name: id,
    version: manifest.version,
    description: manifest.description,
    category: manifest.category,
    inputs,
    permissions: directive.permissions ?? (isDeclared ? null : permissionsOf(config, at)),
  }
}

/** What its author wrote, with the lines of the file. */
async function textOfDirective({ form, raw, text, files }: Item): Promise<string> {
  if (form === 'document' && text !== null) return text
  const own = (await files()).find(({ path }) => path === FILE || path === raw['_file'])
  return own === undefined ? (form === 'row' ? (text ?? '') : '') : Buffer.from(own.content).toString('utf8')
}

function fromManifest({ manifest, path, id }: Item): Directive['inputs'] {
  const declared = manifest.parameters.map(({ ...given }) => ({
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the manifest was read from JSON
    given: given as never,
    place: { line: 1, column: 1 },
  }))
  return readInputs(declared, path ?? id, () => undefined)
}
