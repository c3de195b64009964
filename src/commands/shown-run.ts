import { z } from 'zod'
import { LIMITS } from '../shared/limits.ts'
import type { Terminal } from './terminal.ts'
import { printable, printableText } from './terminal.ts'
import type { Session } from './with-kiwi.ts'

const Step = z.looseObject({
  name: z.string().nullish(),
  condition: z.string().nullish(),
  description: z.string().nullish(),
  action: z.string().nullish(),
  calls: z.array(z.looseObject({ tool: z.string(), parameters: z.unknown() })).default([]),
})

export const Ready = z.looseObject({
  run_id: z.string(),
  directive: z.looseObject({ process: z.array(Step).nullish(), text: z.string().nullish() }).nullish(),
  tool_context: z.record(z.string(), z.looseObject({ error: z.string().nullish() })).nullish(),
  permissions: z.looseObject({ granted: z.array(z.string()), ignored: z.array(z.string()) }).nullish(),
  warnings: z.array(z.string()).nullish(),
  /** How the whole is read, where it is too large for one answer. */
  rest: z.looseObject({ arguments: z.record(z.string(), z.unknown()) }).nullish(),
})
const Page = z.looseObject({ text: z.string(), next_offset: z.number().nullable() })

/** What was too large for one answer, put together again: an agent pages, a person reads. */
export async function wholeRun(data: unknown, call: Session['call']): Promise<z.infer<typeof Ready>> {
  const ready = Ready.parse(data)
  const { directive, rest } = ready
  if (isHere(directive) || !isHere(rest)) return ready
  const pages: string[] = []
  for (let offset: number | null = 0; offset !== null;) {
    const reply = await call('load', { ...rest.arguments, offset, limit: LIMITS.resultBytes })
    const page = Page.safeParse(reply.data)
    if (!page.success) return ready
    pages.push(page.data.text)
    offset = page.data.next_offset
  }
  return { ...ready, directive: Ready.parse(JSON.parse(pages.join(''))).directive }
}

function isHere<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined
}

/** What to follow goes where a pipe takes it; the run it is followed in stands beside. */
export function showRun(
  { run_id: run, directive, permissions, warnings, tool_context: context }: z.infer<typeof Ready>,
  terminal: Terminal,
): void {
  const { granted = [], ignored = [] } = permissions ?? {}
  terminal.note(`run ${run}: calls of it are made with --run ${run}; kiwi finish ${run} ends it`)
  for (const line of granted) terminal.note(`  ${printable(line)}`)
  if (granted.length === 0) terminal.note('  it may do nothing: its permissions grant nothing')
  for (const line of [...ignored, ...(warnings ?? [])]) terminal.note(`note: ${printable(line)}`)
  for (const line of unusable(context ?? {}, warnings ?? [])) terminal.note(`note: ${printable(line)}`)
  if (!isHere(directive)) terminal.note('note: it is too large to be shown here: --json says how it is read')
  const { process: steps, text } = directive ?? {}
  terminal.out(
    printableText([...(steps ?? []).map(stepText), ...(isText(text) ? ['', text] : [])].join('\n')),
  )
}

/** What it has to do without, as far as no warning speaks of it. */
function unusable(
  context: Readonly<Record<string, { readonly error?: string | null | undefined }>>,
  warnings: readonly string[],
): readonly string[] {
  return Object.entries(context).flatMap(([name, { error }]) => {
    const isSaid = warnings.some((line) => line.includes(`"${name}.`) || line.includes(`"${name} `))
    return isText(error) && !isSaid ? [`"${name}" cannot be used: ${error}`] : []
  })
}

function stepText({ name, condition, description, action, calls }: z.infer<typeof Step>, at: number): string {
  const title = [`${at + 1}.`, name, isText(condition) ? `(if ${condition})` : null]
  const rest = [
    description,
    action,
    ...calls.map(({ tool, parameters }) => `-> ${tool} ${JSON.stringify(parameters)}`),
  ]
  const lines = rest.flatMap((text) => (isText(text) ? text.split('\n') : []))
  return [title.filter(isText).join(' '), ...lines.map((line) => `   ${line}`)].join('\n')
}

function isText(value: string | null | undefined): value is string {
  return typeof value === 'string'
}
