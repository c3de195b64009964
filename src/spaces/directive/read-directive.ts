import type { JsonObject } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import type { Item } from '../item.ts'
import { permissionsOf } from './from-matter.ts'
import { readInputs } from './inputs.ts'
import { normalLimits } from './limits.ts'
import type { Directive } from './model.ts'
import { parseDirective } from './parse-directive.ts'
import type { Position } from './position.ts'

/** A directive as every dialect means it. One that cannot be read is a PARSE_ERROR with its line and column. */
export async function readDirective(item: Item): Promise<Directive> {
  const { id, path, raw, manifest } = item
  const where = path ?? id
  const isSkill = raw['_file'] === 'SKILL.md'
  const { directive } = await parseDirective(await textOfDirective(item), { where, stem: id, isSkill })
  const { version, description, category } = manifest
  const whole = { ...directive, name: id, version, description, category }
  return isDocument(item) ? whole : { ...whole, ...declaredBy(item, whole) }
}

/** The file that holds the text of a directive. */
const FILE = 'directive.md'

/** What its author wrote, with the lines of the file. */
export async function textOfDirective({ form, raw, text, files }: Item): Promise<string> {
  if (form === 'document' && text !== null) return text
  const own = (await files()).find(({ path }) => path === FILE || path === raw['_file'])
  return own === undefined ? '' : Buffer.from(own.content).toString('utf8')
}

/** Whether its text is all there is of it, and no manifest beside it. */
function isDocument({ form, raw }: Item): boolean {
  return form === 'document' || raw['_file'] !== undefined
}

const TOP: Position = { line: 1, column: 1 }

/** What a manifest says of a directive whose text does not. */
function declaredBy({ manifest, path, id }: Item, own: Directive): Partial<Directive> {
  const { inputs, permissions, more, limits } = own
  const { config, parameters } = manifest
  const { model_tier: tier, max_tokens } = config
  const given = parameters.map((parameter) => ({ given: toJson(parameter), place: TOP }))
  return {
    inputs: inputs.length > 0 ? inputs : readInputs(given, path ?? id, () => undefined),
    permissions:
      permissions ??
      (isJsonObject(config['permissions']) ? permissionsOf(config['permissions'], null, () => TOP) : null),
    more: typeof tier === 'string' ? { model: { tier }, ...more } : more,
    limits: typeof max_tokens === 'number' ? { ...normalLimits({ max_tokens }), ...limits } : limits,
  }
}

function toJson(parameter: Readonly<Record<string, unknown>>): JsonObject {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the manifest was read from JSON
  return Object.fromEntries(
    Object.entries(parameter).filter(([, value]) => value !== undefined),
  ) as JsonObject
}
