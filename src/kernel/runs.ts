import type { Clock } from '../shared/clock.ts'
import { KiwiError } from '../shared/errors.ts'
import { createIds } from '../shared/ids.ts'
import type { JsonValue } from '../shared/json.ts'
import type { StoredRun } from '../store/runs.ts'
import type { Store } from '../store/store.ts'
import type { Permissions } from './policy/compile-permissions.ts'
import { compilePermissions } from './policy/compile-permissions.ts'
import type { LayerMeans } from './policy/layer.ts'
import { compileLayer } from './policy/layer.ts'
import type { Layer, LayerData, Rule } from './policy/rule.ts'
import { readPermissions } from './policy/read-permissions.ts'
import { narrowed, spawned } from './policy/spawn.ts'

/** A run that is to be begun. */
export interface RunOrder {
  readonly kind: StoredRun['kind']
  /** The run that begins it; null for the first of a tree. */
  readonly parent: string | null
  readonly principal: string
  readonly directive: string | null
  /** The `<permissions>` of its directive; null to start from what the parent may. */
  readonly permissions: string | null
  /** Servers that a directive may name: those that are known, and those it declares. */
  readonly servers: readonly string[]
  readonly projectPath: string | null
  /** Tools named when it is begun: they narrow, and grant nothing. */
  readonly tools: readonly string[] | null
}

/** A run under way, with the layers that judge its calls besides the base ones. */
export interface Run {
  readonly id: string
  readonly parent: string | null
  readonly root: string
  readonly directive: string | null
  readonly layers: readonly Layer[]
}

/** A run that was begun. */
export interface Begun {
  readonly id: string
  /** Variables its directive asks for; only a person grants them. */
  readonly secrets: readonly string[]
  /** What of its permissions grants nothing. */
  readonly warnings: readonly string[]
}

/** A run that could be begun: nothing is kept of it yet. */
export interface PreparedRun extends Omit<Begun, 'id'> {
  /** What its directive grants, asks about and denies. */
  readonly rules: readonly Rule[]
  /** Begins it, and gives its id. */
  readonly open: () => Promise<string>
}

export interface Runs {
  /** What cannot be judged with is refused here, and not at its first call. */
  prepare(order: RunOrder): Promise<PreparedRun>
  open(order: RunOrder): Promise<Begun>
  /** NOT_FOUND for one that is not there, is over, or is another's: which of these, nobody is told. */
  find(id: string, principal: string): Promise<Run>
  close(id: string): Promise<void>
}

interface RunMeans extends LayerMeans {
  readonly store: Store
  readonly clock: Clock
  readonly home: string
}

const MOST_KEPT = 200

export function openRuns({ store, clock, home, ...means }: RunMeans): Runs {
  const ids = createIds(() => clock.now())
  const kept = new Map<string, readonly Layer[]>()
  const underWay = async (id: string, principal: string): Promise<StoredRun> => {
    const run = await store.runs.find(id)
    if (run === null || run.closed_at !== null || run.principal !== principal) throw notUnderWay(id)
    return run
  }
  const layersOf = async ({ id, own }: StoredRun): Promise<readonly Layer[]> => {
    const known = kept.get(id)
    if (known !== undefined) return known
    const layers = await Promise.all(toLayers(own).map((data) => compileLayer(data, false, means)))
    if (kept.size >= MOST_KEPT) kept.clear()
    kept.set(id, layers)
    return layers
  }
  const prepare = async (order: RunOrder): Promise<PreparedRun> => {
    const { kind, parent, principal, directive, tools } = order
    const begins = parent === null ? null : await underWay(parent, principal)
    const id = ids()
    const { permissions, delegate, secrets, reports } = await declaredBy(order, directive ?? id, home)
    const { own, ceiling } = spawned(
      begins === null ? null : { own: toLayers(begins.own), ceiling: toLayers(begins.ceiling) },
      { directive: directive ?? id, permissions, delegate, tools: tools === null ? null : narrowed(tools) },
    )
    await Promise.all([...own, ...ceiling].map((layer) => compileLayer(layer, false, means)))
    return {
      rules: permissions ?? [],
      secrets,
      warnings: reports,
      async open() {
        await store.runs.open({
          id,
          kind,
          parent,
          root: begins?.root ?? id,
          principal,
          directive,
          own: toJson(own),
          ceiling: toJson(ceiling),
          opened_at: new Date(clock.now()).toISOString(),
          closed_at: null,
        })
        return id
      },
    }
  }
  return {
    prepare,
    async open(order) {
      const { secrets, warnings, open } = await prepare(order)
      return { id: await open(), secrets, warnings }
    },
    async find(id, principal) {
      const run = await underWay(id, principal)
      const { parent, root, directive } = run
      return { id, parent, root, directive, layers: await layersOf(run) }
    },
    close: (id) => store.runs.close(id, new Date(clock.now()).toISOString()),
  }
}

/** Without a directive nothing is declared, which is not the same as a directive that may do nothing. */
async function declaredBy(
  { permissions: text, servers, projectPath }: RunOrder,
  directive: string,
  home: string,
): Promise<Omit<Permissions, 'permissions'> & { readonly permissions: readonly Rule[] | null }> {
  if (text === null) return { permissions: null, delegate: null, secrets: [], reports: [] }
  const block = await readPermissions(text, directive)
  return compilePermissions(block, { directive, servers: new Set(servers), projectPath, home })
}

function toLayers(kept: readonly JsonValue[]): readonly LayerData[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else is ever written there
  return kept as unknown as readonly LayerData[]
}

function toJson(layers: readonly LayerData[]): readonly JsonValue[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- layers are plain data, kept and read again
  return JSON.parse(JSON.stringify(layers)) as readonly JsonValue[]
}

function notUnderWay(id: string): KiwiError {
  return new KiwiError('NOT_FOUND', `Cannot find the run "${id.slice(0, 64)}"`, {
    hint: 'Leave run_id out to call without a directive, or begin the run again',
    details: { run_id: id.slice(0, 64) },
  })
}
