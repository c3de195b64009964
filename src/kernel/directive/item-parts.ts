import { VOUCHED } from '../../chain/trust.ts'
import { groupOf } from '../../shared/groups.ts'
import { ItemName } from '../../shared/ids.ts'
import type { JsonObject } from '../../shared/json.ts'
import type { Item } from '../../spaces/item.ts'
import { decide } from '../policy/decide.ts'
import { itemDemand, judgedItem } from '../item-demand.ts'
import type { Part, Scene } from './scene.ts'
import { leftOut, lowered, shownTool } from './scene.ts'

/** Tools of the spaces that are granted by name. */
export async function scriptsPart(scene: Scene): Promise<Part | null> {
  const { directive, lookup, judge } = scene
  const names = [...new Set([...directive.wanted.scripts, ...grantedIds(scene)])]
  if (names.length === 0) return null
  const tools: JsonObject[] = []
  const warnings: string[] = []
  let inGroups = 0
  for (const text of names) {
    const name = ItemName.safeParse(text)
    const ref = name.success ? { name: name.data, category: null, version: null } : null
    const item = ref === null ? null : await lookup.find(ref, 'tool')
    const refusal = item === null ? null : judge.refusalOf(judgedItem(item))
    if (item === null) warnings.push(leftOut(`"${text}"`, 'There is no such tool here'))
    else if (refusal !== null) warnings.push(leftOut(`"${text}"`, refusal.remedy))
    // What belongs to a group stands there.
    else if (groupOf(item.id) !== undefined) inGroups += 1
    else {
      tools.push(shownTool(item, scene))
      warnings.push(...(await startWarnings(item, scene)))
    }
  }
  if (inGroups === names.length) return null
  const error = tools.length > 0 ? {} : { error: 'none of them can be used' }
  return { key: 'scripts', entry: { available: tools.length > 0, tools, ...error }, warnings }
}

/** Of what nobody vouches for, the program is judged by itself, so the grant of the script alone lets nothing start. */
async function startWarnings(item: Item, { lookup, means, layers }: Scene): Promise<readonly string[]> {
  const plan = await means.chain.resolver.plan(item, lookup).catch(() => null)
  if (plan === null || plan.trust.level >= VOUCHED || plan.effect.kind !== 'subprocess') return []
  const program = plan.effect.command.command.source
  if (/[{}$]/.test(program)) return []
  const demands = [
    itemDemand(judgedItem(item)),
    { op: 'exec', program, isChosen: true, runsCode: true } as const,
  ]
  const { effect, remedy } = decide(layers, demands, null)
  if (effect !== 'deny') return []
  return [
    `"${item.id}" starts "${program}" and is signed by nobody, so it is refused: sign it, or ${lowered(remedy)}`,
  ]
}

/** Written out: what a pattern grants is found by search. */
function grantedIds({ granted }: Scene): readonly string[] {
  return granted.flatMap(({ op, effect, match }) => {
    const isOfItems = op === 'tool' && effect !== 'deny' && match.kind === 'tool' && match.server === null
    if (!isOfItems || match.types !== undefined || match.actions?.includes('run') !== true) return []
    return (match.tools ?? []).filter((id) => !/[*?./]/.test(id))
  })
}

const QUESTIONS = {
  search: 'Finds tools, directives, knowledge and servers',
  load: 'Shows an item whole',
  help: 'Explains how Kiwi works',
} as const
const CHANGES = ['create', 'update', 'delete', 'publish', 'sign', 'discover'] as const

/** Which of Kiwi's own tools are granted, and what may be done to items. */
export function kiwiPart({ directive, layers }: Scene): Part | null {
  const { kiwi } = directive.wanted
  const mayDo = (id: string, action: string): boolean =>
    decide(layers, [{ op: 'tool', id, action }], null).effect !== 'deny'
  const questions = Object.entries(QUESTIONS).filter(([name]) => mayDo('kiwi-mcp', name))
  const actions = CHANGES.filter((action) => mayDo('item', action))
  if (kiwi === null && questions.length === 0 && actions.length === 0) return null
  return {
    key: 'kiwi',
    entry: {
      available: true,
      tools: [
        ...questions.map(([name, description]) => ({ name, description })),
        { name: 'execute', description: 'Makes every call of this run' },
      ],
      constraints: { actions: ['run', ...actions, 'finish'], ...typesOf(kiwi) },
    },
    warnings: [],
  }
}

function typesOf(kiwi: Scene['directive']['wanted']['kiwi']): JsonObject {
  const types = kiwi?.['search'] ?? []
  return types.length === 0 ? {} : { search_types: types }
}
