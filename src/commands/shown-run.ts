import { z } from 'zod'
import type { Terminal } from './terminal.ts'
import { printable, printableText } from './terminal.ts'

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
})

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
