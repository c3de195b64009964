import type { Draft } from '../chain/draft.ts'
import { VOUCHED } from '../chain/trust.ts'
import type { Config } from '../config/config.ts'
import type { Undo } from './call.ts'
import type { Demand } from './policy/rule.ts'

interface Circumstances {
  readonly projectPath: string | null
  /** The paths that its manifest names. */
  readonly paths: readonly Demand[]
  readonly cover: Config['undo']['cover']
}

/** How what a run changes can be taken back; undefined where it changes nothing, or does not say that it does. */
export function undoOf(
  { plan, effect, isReadOnly }: Draft,
  { projectPath, paths, cover }: Circumstances,
): Undo | undefined {
  const { manifest, raw } = plan.item
  if (isReadOnly || plan.isReadOnly) return undefined
  if (manifest.rollback === 'none') return { tier: 'never', why: 'its manifest says "rollback: none"' }
  if (manifest.rollback !== undefined) return { tier: 'call', ...manifest.rollback }
  const written = paths.flatMap((demand) => (demand.op === 'write' ? [demand.path] : []))
  if (written.length > 0) return { tier: 'files', paths: written }
  // A script that declares nothing is taken to change something, but nobody said so.
  const isDeclared = manifest.mutates_state === true && raw['_virtual'] !== true
  if (!isDeclared && cover === 'declared') return undefined
  const startsPrograms = effect.kind === 'subprocess' || effect.kind === 'line'
  if (startsPrograms && projectPath !== null) return { tier: 'tree', root: projectPath }
  if (!isDeclared) return undefined
  const why = startsPrograms
    ? 'it runs outside of a project'
    : 'what it changes is elsewhere, and its manifest names no "rollback"'
  return { tier: 'never', why }
}

/** Why there is no way back: also where nobody said that the run changes anything, unless somebody vouches for that. */
export function noReturnOf({ plan, effect, isReadOnly }: Draft, undo: Undo | undefined): string | undefined {
  if (undo !== undefined) return undo.tier === 'never' ? undo.why : undefined
  const isSaid = isReadOnly && plan.trust.level >= VOUCHED
  const isAsking = effect.kind === 'http_client' && /^(GET|HEAD)$/i.test(effect.request.method)
  return plan.isReadOnly || isSaid || isAsking || effect.kind === 'content' ? undefined : UNSAID
}

const UNSAID = 'nothing says what it changes, so nothing is kept of it'

/** Said before the call is made, and shown to whoever is asked about it. */
export function undoWarnings(undo: Undo | undefined): readonly string[] {
  return undo?.tier === 'never' ? [`this call cannot be undone: ${undo.why}`] : []
}
