import type { KiwiError } from '../../shared/errors.ts'
import type { Element } from '../../spaces/directive/element.ts'
import { nameIn } from '../../spaces/directive/dialect.ts'
import { dialectOf, shown } from '../../spaces/directive/element.ts'
import { parseFault } from '../../spaces/directive/parse-fault.ts'

/** Words for taking a right away, and how that is written. */
const MEANT: ReadonlyMap<string, string> = new Map([
  ...'deny denied denies denial forbid forbidden block blocked refuse reject never disallow except exclude not'
    .split(' ')
    .map((word) => [word, 'deny'] as const),
  ...'ask asks confirm approve approval require_approval'.split(' ').map((word) => [word, 'ask'] as const),
  ['delegate', 'delegate'],
])

const RIGHTS: ReadonlySet<string> = new Set(
  'read write execute filesystem shell network environment kiwi search load fetch sign permissions'.split(
    ' ',
  ),
)

const HINTS = {
  yaml: 'Write "deny" or "ask" directly below "permissions" or "delegate", with a list of forms such as - write: {resource: filesystem, path: "a/**"}',
  xml: 'Write <deny> or <ask> directly below <permissions> or <delegate>, around forms such as <write resource="filesystem" path="a/**"/>',
} as const

/** Refuses whatever was meant to take rights away and would not: it stands in the wrong place, or is spelled otherwise. */
export function assertDenials(block: Element, directive: string): void {
  for (const child of block.children) assertPlaced(child, directive, ['deny', 'ask', 'delegate'])
}

/** Only these may hold others here. */
function assertPlaced(element: Element, directive: string, holders: readonly string[]): void {
  const { name, attributes, children, text } = element
  const named = (one: string): string => nameIn(dialectOf(element), one)
  const refuse = (reason: string): KiwiError =>
    parseFault(directive, `${shown(element)} ${reason}`, element, {
      hint: HINTS[dialectOf(element)],
    })
  const attribute = Object.keys(attributes).find((key) => MEANT.has(key.toLowerCase()))
  if (attribute !== undefined)
    throw refuse(
      `has no ${element.isData === true ? 'key' : 'attribute'} "${attribute}", and would grant what it leaves out`,
    )
  if (holders.includes(name)) {
    if (text !== '' || Object.keys(attributes).length > 0 || (children.length === 0 && name !== 'delegate'))
      throw refuse('holds no form: nothing would be taken away by it')
    for (const child of children) assertPlaced(child, directive, ['deny', 'ask'])
    return
  }
  const meant = MEANT.get(name.toLowerCase())
  if (meant !== undefined)
    throw refuse(`is not known here: ${named(meant)} was meant, and would be without effect`)
  if (!RIGHTS.has(name) || name === 'permissions') {
    const held = children.find((child) => RIGHTS.has(child.name))
    if (held !== undefined)
      throw refuse(`is not known, and holds ${named(held.name)}: what it means for that, nobody can tell`)
  }
  for (const child of children) assertPlaced(child, directive, [])
}

/** A form below `<deny>` or `<ask>` that stands for nothing. */
export function notDenied(
  element: Element,
  effect: 'deny' | 'ask',
  why: string,
  directive: string,
): KiwiError {
  return parseFault(
    directive,
    `${shown(element)} below ${nameIn(dialectOf(element), effect)} has no effect: ${why}`,
    element,
    {
      hint: 'Write it as one of the forms that grant the same, or remove it',
    },
  )
}
