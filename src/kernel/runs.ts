import type { Clock } from '../shared/clock.ts'
import { KiwiError } from '../shared/errors.ts'
import { createIds } from '../shared/ids.ts'
import { LIMITS } from '../shared/limits.ts'
import type { JsonValue } from '../shared/json.ts'
import type { Dialect } from '../spaces/directive/dialect.ts'
import { nameIn } from '../spaces/directive/dialect.ts'
import type { Element } from '../spaces/directive/element.ts'
import { readXml } from '../spaces/directive/read-xml.ts'
import type { StoredRun } from '../store/runs.ts'
import type { Store } from '../store/store.ts'
import type { Caller } from './call.ts'
import { createCurrentRun } from './current-run.ts'
import type { HeldSessions } from './held-sessions.ts'
import { openHeldSessions } from './held-sessions.ts'
import type { Permissions } from './policy/compile-permissions.ts'
import { compilePermissions } from './policy/compile-permissions.ts'
import type { LayerMeans } from './policy/layer.ts'
import { compileLayer } from './policy/layer.ts'
import type { Layer, LayerData, Rule, WantedLayer } from './policy/rule.ts'
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

/** A run of a directive that was read. */
interface DirectiveOrder extends Omit<RunOrder, 'permissions'> {
  /** Its `<permissions>`, none of which may be there: that grants nothing. Null to start from what the parent may. */
  readonly permissions: { readonly block: Element | undefined } | null
  readonly dialect?: Dialect
  /** Tools it is granted by naming them. */
  readonly scripts?: readonly string[]
  /** What it says it will use: it narrows, and grants nothing. */
  readonly wanted?: WantedLayer | null
  /** The session that stays inside of it until it is over. */
  readonly session?: string | null
}

/** A run under way, with the layers that judge its calls besides the base ones. */
export interface Run {
  readonly id: string
  readonly parent: string | null
  readonly root: string
  readonly directive: string | null
  readonly layers: readonly Layer[]
  /** Names its calls may give to servers. */
  readonly aliases: ReadonlyMap<string, string>
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
  /** What will judge its calls besides the base layers. */
  readonly layers: readonly Layer[]
  /** Those of them that the runs above hand on. */
  readonly above: readonly Layer[]
  /** Begins it, and gives its id. */
  readonly open: () => Promise<string>
}

export interface Runs {
  /** What cannot be judged with is refused here, and not at its first call. */
  prepare(order: DirectiveOrder): Promise<PreparedRun>
  open(order: RunOrder): Promise<Begun>
  /** The run that a session stays inside of; null for none. */
  readonly heldIn: HeldSessions['heldIn']
  /** NOT_FOUND for one that is not there or is another's: which of these, nobody is told. One's own may be over. */
  find(id: string, principal: string): Promise<Run>
  /** The same for a caller who names it: a session that stays inside of a run finds that one and those below it. */
  named(id: string, caller: Caller): Promise<Run>
  /** The same for a caller who ends it: what a session stays inside of is ended by that session, or by a person. */
  ending(id: string, caller: Caller): Promise<Run>
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
  const current = createCurrentRun({ store, clock })
  const underWay = async (id: string, principal: string): Promise<StoredRun> => {
    const run = await current(id)
    if (run === null || run.principal !== principal) throw notUnderWay(id)
    if (run.closed_at !== null) throw over(run)
    return run
  }
  const compile = (layer: LayerData): Promise<Layer> => compileLayer(layer, false, means)
  const layersOf = createLayersOf(compile)
  const held = openHeldSessions({ runs: { find: current } })
  const find = async (id: string, principal: string): Promise<Run> => {
    const run = await underWay(id, principal)
    const { parent, root, directive } = run
    const layers = await layersOf(run)
    return { id, parent, root, directive, layers, aliases: aliasesOf(layers) }
  }
  const prepare = async (order: DirectiveOrder): Promise<PreparedRun> => {
    const { kind, parent, principal, directive, tools, wanted = null, session = null } = order
    const begins = parent === null ? null : await underWay(parent, principal)
    const id = ids()
    const { permissions, delegate, secrets, reports } = declaredBy(order, directive ?? id, home)
    const { own, ceiling } = spawned(
      begins === null ? null : { own: toLayers(begins.own), ceiling: toLayers(begins.ceiling) },
      {
        directive: directive ?? id,
        dialect: order.dialect,
        permissions,
        delegate,
        wanted,
        tools: tools === null ? null : narrowed(tools),
      },
    )
    await Promise.all(ceiling.map(compile))
    const layers = await Promise.all(own.map(compile))
    return {
      rules: permissions ?? [],
      layers,
      // What is handed on stands first.
      above: layers.slice(0, begins?.ceiling.length ?? 0),
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
          session,
        })
        if (session !== null) held.hold({ principal, session }, id)
        return id
      },
    }
  }
  return {
    prepare,
    async open(order) {
      const { permissions: text, directive } = order
      const permissions = text === null ? null : { block: (await readXml(text, directive ?? 'run')).root }
      const { secrets, warnings, open } = await prepare({ ...order, permissions })
      return { id: await open(), secrets, warnings }
    },
    heldIn: (caller) => held.heldIn(caller),
    find,
    ...createHeldFind(find, held, current),
    close: (id) => store.runs.close(id, new Date(clock.now()).toISOString()),
  }
}

function createHeldFind(
  find: Runs['find'],
  held: HeldSessions,
  current: (id: string) => Promise<StoredRun | null>,
): Pick<Runs, 'named' | 'ending'> {
  return {
    async named(id, caller) {
      if (caller.kind === 'agent' && !(await held.mayName(caller, id))) throw notUnderWay(id, WITHIN)
      return find(id, caller.principal)
    },
    async ending(id, caller) {
      // Agents call under a name of their own: a person ends what any of them began.
      const owner = caller.kind === 'person' ? (await current(id))?.principal : undefined
      const run = await find(id, owner ?? caller.principal)
      if (caller.kind === 'agent' && !(await held.mayEnd(caller, id))) throw heldElsewhere(run)
      return run
    },
  }
}

/** Compiled once, and kept while they are few. */
function createLayersOf(
  compile: (layer: LayerData) => Promise<Layer>,
): (run: StoredRun) => Promise<readonly Layer[]> {
  const kept = new Map<string, readonly Layer[]>()
  return async ({ id, own }) => {
    const known = kept.get(id)
    if (known !== undefined) return known
    const layers = await Promise.all(toLayers(own).map(compile))
    if (kept.size >= MOST_KEPT) kept.clear()
    kept.set(id, layers)
    return layers
  }
}

/** What was handed on to it has none. */
function aliasesOf(layers: readonly Layer[]): Run['aliases'] {
  return new Map(
    layers.flatMap(({ source }) => (source.kind === 'tools' ? Object.entries(source.aliases) : [])),
  )
}

/** Without a directive nothing is declared, which is not the same as a directive that may do nothing. */
function declaredBy(
  { permissions: given, dialect = 'xml', scripts = [], servers, projectPath }: DirectiveOrder,
  directive: string,
  home: string,
): Omit<Permissions, 'permissions'> & { readonly permissions: readonly Rule[] | null } {
  if (given === null) return { permissions: null, delegate: null, secrets: [], reports: [] }
  const compiled = compilePermissions(given.block, {
    directive,
    dialect,
    servers: new Set(servers),
    projectPath,
    home,
  })
  return { ...compiled, permissions: [...compiled.permissions, ...scripts.map(grantOf(directive, dialect))] }
}

/** To name a script among its tools is to grant it. */
function grantOf(directive: string, dialect: Dialect): (script: string, at: number) => Rule {
  return (script, at) => ({
    id: `${directive}/tools.script/${at + 1}`,
    op: 'tool',
    match: { kind: 'tool', server: null, tools: [script], actions: ['run'] },
    effect: 'allow',
    remedy: `Change ${nameIn(dialect, 'tools')} of the directive "${directive}"`,
  })
}

function toLayers(kept: readonly JsonValue[]): readonly LayerData[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else is ever written there
  return kept as unknown as readonly LayerData[]
}

function toJson(layers: readonly LayerData[]): readonly JsonValue[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- layers are plain data, kept and read again
  return JSON.parse(JSON.stringify(layers)) as readonly JsonValue[]
}

function over({ id, directive }: StoredRun): KiwiError {
  return new KiwiError('NOT_FOUND', `Cannot find the run "${id}": it is over`, {
    hint: 'Leave run_id out to call without a directive, or begin the run again',
    ...(directive === null
      ? {}
      : {
          fix: { call: 'execute', arguments: { item_type: 'directive', action: 'run', item_id: directive } },
        }),
    details: { run_id: id, is_over: true },
  })
}

function heldElsewhere({ id }: Run): KiwiError {
  const said = `Cannot find the run "${id}" among yours: another session stays inside of it`
  return new KiwiError('NOT_FOUND', said, {
    hint: `Leave it: a person ends it with kiwi finish ${id}, and ${LIMITS.idleRunHours} hours without a call do`,
    details: { run_id: id },
  })
}

const WITHIN =
  'Leave run_id out: this session stays inside of the run it has begun, until it ends that one with finish'

function notUnderWay(
  id: string,
  hint = 'Leave run_id out to call without a directive, or begin the run again',
): KiwiError {
  return new KiwiError('NOT_FOUND', `Cannot find the run "${id.slice(0, 64)}"`, {
    hint,
    details: { run_id: id.slice(0, 64) },
  })
}
