import { allWithoutHidden } from '../../shared/hidden.ts'
import type { JsonObject } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import type { CatalogTool } from '../../store/catalog.ts'

/** What agents see of a tool of an upstream: nothing but its name while it is kept from them. */
export interface ShownDefinition {
  readonly definition: JsonObject
  /** Why it cannot be called; null when it can. */
  readonly mark: string | null
}

export function shownDefinition(
  { name, raw, state, reason, findings }: Pick<CatalogTool, 'name' | 'raw' | 'state' | 'reason' | 'findings'>,
  /** As the overrides of the server show it. */
  definition: JsonObject = raw,
): ShownDefinition {
  switch (state) {
    case 'usable': {
      const shown = allWithoutHidden(definition)
      return { definition: isJsonObject(shown) ? shown : {}, mark: null }
    }
    case 'quarantined':
      return {
        definition: { name },
        mark: `quarantined: ${reason === null ? 'nobody let it pass' : REASONS[reason]}`,
      }
    case 'missing':
      return { definition: { name }, mark: 'missing: the server does not list it any more' }
    case 'unusable':
      return { definition: { name }, mark: `unusable: ${unusableWhy(findings)}` }
  }
}

/** Why nothing of a definition can be used. */
export function unusableWhy(findings: readonly string[]): string {
  return findings.join('; ') || 'its name or definition cannot be taken'
}

/** In the words of a refusal: `its definition ...`. */
export const REASONS = {
  new: 'it is new since its server was let pass',
  changed: 'its definition changed since it was let pass',
  flagged: 'its definition looks like orders to the model',
  unvouched: 'its server was set up by an agent, and no person has let its tools pass',
} as const
