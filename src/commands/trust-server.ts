import { z } from 'zod'
import { ERRORS, KiwiError } from '../shared/errors.ts'
import type { Reply } from '../shared/reply.ts'
import { visible, visibleLine } from '../shared/visible.ts'
import { canAsk, isAgreed } from './ask.ts'
import type { Terminal } from './terminal.ts'
import { openTerminal, printReply, printable, printableText } from './terminal.ts'
import type { Session } from './with-kiwi.ts'

interface TrustServerOptions {
  readonly json?: boolean
  readonly yes?: boolean
}

/** `kiwi trust NAME`, `kiwi trust NAME.tool`: shows what is new or changed, and lets exactly that pass. */
export async function trustServer(
  session: Session,
  name: string,
  { json = false, yes = false }: TrustServerOptions,
): Promise<number> {
  const shown = await act(session, name, null)
  // Whoever reads it by a program only looks: a yes is said by itself.
  if (shown.error !== null || (json && !yes)) return printReply(shown, json, () => undefined)
  const preview = Preview.parse(shown.data)
  const isWaiting = preview.is_launch_new || preview.tools.length > 0
  if (isWaiting && !yes && !(await isConfirmed(name, preview))) {
    openTerminal().note('Nothing was changed.')
    return ERRORS.QUARANTINED.exit
  }
  const reply = await act(session, name, preview)
  return printReply(reply, json, (data, terminal) => {
    if (yes) show(preview, terminal)
    terminal.out(printable(Done.parse(data).output))
  })
}

const Done = z.looseObject({ output: z.string() })
const Preview = z.looseObject({
  server: z.string(),
  space: z.string(),
  path: z.string().nullable(),
  identity: z.string(),
  launch: z.record(z.string(), z.json()),
  changed: z.array(z.string()),
  gone: z.array(z.string()),
  findings: z.array(z.string()),
  is_launch_new: z.boolean(),
  tools: z.array(
    z.looseObject({
      name: z.string(),
      pin: z.string(),
      reason: z.string().nullable(),
      findings: z.array(z.string()),
      diff: z.string(),
    }),
  ),
})
type Preview = z.infer<typeof Preview>

function act(session: Session, name: string, seen: Preview | null): Promise<Reply> {
  const pins = seen?.tools.map(({ pin }) => pin) ?? []
  return session.act({
    wish: () => ({
      kind: 'trust_server',
      name,
      seen: seen === null ? null : { identity: seen.identity, pins },
    }),
    operation: 'trust.server',
    subject: name,
    parameters: { pins },
    isDryRun: seen === null,
  })
}

async function isConfirmed(name: string, preview: Preview): Promise<boolean> {
  if (!canAsk()) {
    throw new KiwiError('CONFIRM_REQUIRED', `Cannot trust "${name}": there is no terminal to ask at`, {
      hint: 'Look at what changed with --json, which agrees to nothing, then give --yes',
    })
  }
  show(preview, openTerminal())
  return isAgreed('Let agents see and call this?')
}

/** Every word and every character: whoever says yes has seen what they say yes to. */
function show(
  { server, space, path, launch, changed, gone, findings: found, is_launch_new: isNew, tools }: Preview,
  terminal: Terminal,
): void {
  terminal.note(printable(`${server}, in the space ${space}${path === null ? '' : `, ${path}`}`))
  if (isNew) terminal.note(newness(changed, gone))
  for (const [key, value] of Object.entries(launch)) {
    const words = Array.isArray(value) ? value : value === null ? [] : [value]
    const mark = changed.includes(key) ? ' (changed)' : ''
    if (words.length > 0) terminal.note(`  ${printable(key)}${mark}: ${words.map(shownWord).join(' ')}`)
  }
  for (const finding of found) terminal.note(`  found: ${visibleLine(finding)}`)
  for (const { name, reason, findings, diff } of tools) {
    terminal.note(`\n${printable(name)} (${reason ?? 'quarantined'})`)
    for (const finding of findings) terminal.note(`  found: ${visibleLine(finding)}`)
    terminal.note(printableText(diff))
  }
}

/** What is different from when it was trusted. */
function newness(changed: readonly string[], gone: readonly string[]): string {
  if (changed.length === 0 && gone.length === 0) return 'Nobody has trusted it yet:'
  const lost = gone.length === 0 ? '' : `; gone: ${gone.map(printable).join(', ')}`
  return `It is not as it was trusted: ${changed.map(printable).join(', ')}${lost}`
}

/** One that could be taken for two stands in quotes. */
function shownWord(word: unknown): string {
  const text = visible(typeof word === 'string' ? word : JSON.stringify(word))
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `"${text}"`
}
