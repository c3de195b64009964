import type { Dialect } from '../../spaces/directive/dialect.ts'
import { nameIn } from '../../spaces/directive/dialect.ts'
import type { Element } from '../../spaces/directive/element.ts'
import { listOf, shown } from '../../spaces/directive/element.ts'
import type { Granted, RowContext } from './permission-rows.ts'
import { assertDenials, notDenied } from './denials.ts'
import { meant } from '../../spaces/directive/note.ts'
import { noResource, strangerAmong, strangerIn, unknownResource } from './known-attributes.ts'
import {
  commandPattern,
  files,
  kiwiUse,
  namesIn,
  network,
  programs,
  resourceRow,
  toolIds,
} from './permission-rows.ts'
import type { Effect, Rule } from './rule.ts'

interface PermissionContext extends Omit<RowContext, 'isDenial'> {
  /** Whose permissions they are, for the names of rules. */
  readonly directive: string
  readonly dialect?: Dialect
}

/** What a directive may do, what it may hand on, and what of it means nothing. */
export interface Permissions {
  readonly permissions: readonly Rule[]
  /** Null where nothing is said: then what it may do is what it may hand on. */
  readonly delegate: readonly Rule[] | null
  /** Variables it asks for; only a person grants them. */
  readonly secrets: readonly string[]
  /** Forms that grant nothing, with the line they stand on. */
  readonly reports: readonly string[]
}

/**
 * The `<permissions>` of a directive as rules. What is not understood grants nothing, and is said; where it would take
 * a right away it is a PARSE_ERROR, as without it there would be more rights than its author meant.
 */
export function compilePermissions(block: Element | undefined, context: PermissionContext): Permissions {
  if (block !== undefined) assertDenials(block, context.directive)
  const delegates = block?.children.filter(({ name }) => name === 'delegate') ?? []
  const rest = block?.children.filter(({ name }) => name !== 'delegate') ?? []
  const own = joined([compileAll(rest, 'allow', context), textIn(block, context)])
  const handed = delegates.map(({ children }) => compileAll(children, 'allow', context))
  const all = [own, ...handed]
  return {
    permissions: named(own.found, context, 'permissions'),
    delegate:
      delegates.length === 0
        ? null
        : named(
            handed.flatMap(({ found }) => found),
            context,
            'delegate',
          ),
    secrets: [...new Set(all.flatMap(({ secrets }) => secrets))].filter(
      (secret) => !all.some(({ withheld }) => withheld.includes(secret)),
    ),
    reports: all.flatMap(({ reports }) => reports),
  }
}

/** A text between the forms, such as `*`, is none of them. */
function textIn(block: Element | undefined, { dialect = 'xml' }: PermissionContext): Compiled {
  if (block === undefined || block.text === '') return NOTHING
  const text = block.text.replaceAll(/\s+/g, ' ').slice(0, 40)
  const within = nameIn(dialect, 'permissions')
  return { ...NOTHING, reports: [`line ${block.line}: the text "${text}" in ${within} grants nothing`] }
}

type Found = Omit<Rule, 'id' | 'remedy'>

interface Compiled {
  readonly found: readonly Found[]
  readonly secrets: readonly string[]
  /** Variables that it denies itself. */
  readonly withheld: readonly string[]
  readonly reports: readonly string[]
}

const NOTHING: Compiled = { found: [], secrets: [], withheld: [], reports: [] }

function compileAll(elements: readonly Element[], effect: Effect, context: PermissionContext): Compiled {
  return joined(elements.map((element) => compileOne(element, effect, context)))
}

function joined(all: readonly Compiled[]): Compiled {
  return {
    found: all.flatMap(({ found }) => found),
    secrets: all.flatMap(({ secrets }) => secrets),
    withheld: all.flatMap(({ withheld }) => withheld),
    reports: all.flatMap(({ reports }) => reports),
  }
}

function compileOne(element: Element, effect: Effect, context: PermissionContext): Compiled {
  const { name, children, line } = element
  // The stricter of two that are put into each other.
  if (name === 'deny') return compileAll(children, 'deny', context)
  if (name === 'ask') return compileAll(children, effect === 'deny' ? 'deny' : 'ask', context)
  const granted = grantedBy(element, { ...context, isDenial: effect !== 'allow' })
  return joined(
    granted.map((one): Compiled => {
      const why = 'unmapped' in one ? one.unmapped : emptyFor(one, effect)
      if (why !== null && effect !== 'allow') throw notDenied(element, effect, why, context.directive)
      if ('unmapped' in one)
        return { ...NOTHING, reports: [`line ${line}: ${shown(element)} grants nothing: ${one.unmapped}`] }
      const counted = one.grants.filter(({ isWay }) => effect !== 'deny' || isWay !== true)
      const found = counted.map(({ op, match, isWay }): Found => ({
        op,
        match,
        effect: isWay === true ? 'allow' : effect,
      }))
      const { secrets = [] } = one
      return { ...NOTHING, found, ...(effect === 'deny' ? { withheld: secrets } : { secrets }) }
    }),
  )
}

/** Why there is nothing in it that could be denied or asked about, or null. */
function emptyFor(
  { grants, secrets = [] }: Exclude<Granted, { unmapped: string }>,
  effect: Effect,
): string | null {
  if (grants.length > 0 || secrets.length > 0) return null
  return effect === 'deny' ? 'nothing can be denied by it' : 'nobody can be asked about it'
}

function grantedBy(element: Element, context: RowContext): readonly Granted[] {
  const { name, attributes } = element
  const empty = emptyIn(element)
  if (empty !== null) return [empty]
  const resources = listOf(element, 'resource')
  if (resources !== null && RIGHTS.includes(name))
    return resources.map(
      (resource) =>
        unknownResource(resource, context) ??
        strangerIn(element, resource) ??
        resourceRow(element, resource, context),
    )
  const rows = BLOCKS.get(name)
  if (rows !== undefined) return orUnmapped(rows(element, context))
  const isTyped = TYPED.has(name) && Object.keys(attributes).length === 0
  if (isTyped) return typedRows(element, context)
  return [RIGHTS.includes(name) ? noResource(element) : unknownForm(element)]
}

/** Forms that say of which resource. */
const RIGHTS = ['read', 'write', 'execute']

function unknownForm({ name, isData }: Element): Granted {
  const forms = ['read', 'write', ...BLOCKS.keys(), ...TYPED].filter((form) => form !== name)
  const probably = meant(name, forms, (form) => (isData === true ? `"${form}"` : `<${form}>`))
  return { unmapped: `${UNKNOWN.unmapped}${probably}` }
}

/** What a form may name. Where it names nothing at all, everything is often meant. */
const NAMING: ReadonlySet<string> = new Set(
  'path paths name tools action actions command commands domains hosts endpoint id tool_id tool_type var'.split(
    ' ',
  ),
)

/** A list that is there and empty names nothing, which is not the same as no list. */
function emptyIn({ attributes }: Element): Granted | null {
  const empty = Object.entries(attributes).find(([key, value]) => NAMING.has(key) && !/[^\s,]/.test(value))
  return empty === undefined ? null : { unmapped: `its ${empty[0]} is empty` }
}

/** Forms that hold others. */
const BLOCKS: ReadonlyMap<string, (element: Element, context: RowContext) => readonly Granted[]> = new Map([
  ['kiwi', ({ children }, context) => children.map((child) => kiwiRow(child, context))],
  [
    'filesystem',
    ({ children }, context) =>
      children.map(
        (child) => emptyIn(child) ?? strangerAmong(child, ['paths', 'path']) ?? filesRow(child, context),
      ),
  ],
  [
    'shell',
    (element, context) => {
      const commands = listOf(element, 'commands')
      const patterns = element.children.map((child) =>
        commandPattern(child.attributes['pattern'] ?? child.text, context),
      )
      return commands === null ? patterns : [programs(commands, context), ...patterns]
    },
  ],
  [
    'network',
    ({ children }, context) =>
      children.map((child) => network(namesIn(child, context, 'hosts', 'domains'), ['GET', 'HEAD'])),
  ],
  [
    'environment',
    ({ children }) => children.map((child) => ({ grants: [], secrets: listOf(child, 'name') ?? [] })),
  ],
])

/** Forms by action and type, without attributes. */
const TYPED: ReadonlySet<string> = new Set(['execute', 'search', 'load', 'fetch', 'sign'])

const UNKNOWN = { unmapped: 'the form is not known' } as const satisfies Granted

function orUnmapped(granted: readonly Granted[]): readonly Granted[] {
  return granted.length === 0 ? [{ unmapped: 'it holds nothing' }] : granted
}

/** `<kiwi><search/><execute actions="create"/></kiwi>` */
function kiwiRow(element: Element, context: RowContext): Granted {
  const actions = namesIn(element, context, 'actions', 'action')
  return kiwiUse(element.name === 'execute' ? actions : [element.name], context)
}

/** `<filesystem><read paths="a, b"/><write/><delete/></filesystem>` */
function filesRow(element: Element, context: RowContext): Granted {
  const paths = namesIn(element, context, 'paths', 'path')
  switch (element.name) {
    case 'read':
      return files('read', paths, context)
    case 'write':
      return files('write', paths, context)
    case 'delete':
      return files('write', paths, context, ['delete'])
    default:
      return UNKNOWN
  }
}

/** `<execute><tool>a.b.*</tool><directive>x</directive></execute>`, `<search>*</search>`: dots stand for `/`. */
function typedRows({ name, children, text }: Element, context: RowContext): readonly Granted[] {
  if (name === 'search' || name === 'load' || name === 'fetch')
    return [
      text !== '' || children.length > 0 ? kiwiUse([name === 'fetch' ? 'load' : name], context) : UNKNOWN,
    ]
  const action = name === 'execute' ? 'run' : name
  if (text === '*') return [toolIds(['*'], context, [action])]
  return orUnmapped(
    children.map(({ name: type, text: given }): Granted => {
      const id = given.includes('/') ? given : given.replaceAll('.', '/')
      if (id === '' || !['tool', 'directive', 'knowledge'].includes(type)) return UNKNOWN
      const types = type === 'tool' ? {} : { types: [type] }
      const match = { kind: 'tool', server: null, tools: [id], actions: [action], ...types } as const
      const spawn = { op: 'spawn', match: { kind: 'directive', names: [id] } } as const
      // With a dot it may as well be a tool of a server: what is denied is denied in either sense.
      if (context.isDenial && type === 'tool' && given.includes('.')) {
        const other = toolIds([given], context, [action])
        return 'unmapped' in other ? other : { grants: [{ op: 'tool', match }, ...other.grants] }
      }
      return { grants: [{ op: 'tool', match }, ...(type === 'directive' && action === 'run' ? [spawn] : [])] }
    }),
  )
}

function named(
  found: readonly Found[],
  { directive, dialect = 'xml' }: PermissionContext,
  element: string,
): readonly Rule[] {
  return found.map((rule, at) => ({
    id: `${directive}/${element === 'delegate' ? 'delegate.' : ''}${rule.op}/${at + 1}`,
    ...rule,
    remedy:
      rule.effect === 'ask'
        ? `A person has to approve it: the directive "${directive}" asks for that`
        : `Change ${nameIn(dialect, element)} of the directive "${directive}"`,
  }))
}
