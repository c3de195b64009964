import { realpathSync } from 'node:fs'
import { z } from 'zod'
import type { Reply } from '../shared/reply.ts'
import { canAsk, isAgreed } from './ask.ts'
import type { Terminal } from './terminal.ts'
import { openTerminal, printReply, printable, table } from './terminal.ts'
import { withKiwi } from './with-kiwi.ts'

interface ConnectOptions {
  readonly json?: boolean
  /** True without a folder: the nearest project. */
  readonly project?: string | true
  readonly agentsMd?: boolean
  readonly dryRun?: boolean
  readonly replace?: boolean
}

/** `kiwi connect cursor`, `kiwi connect claude-code --project --agents-md`, `kiwi connect --agents-md` */
export function connectCommand(client: string | undefined, options: ConnectOptions): Promise<number> {
  const { project, json = false, agentsMd = false, dryRun = false, replace = false } = options
  const to = project === undefined ? 'user' : 'project'
  const folder = typeof project === 'string' ? { project } : {}
  return withKiwi({ json, ...folder }, async ({ act }) => {
    const connect = (replaces: boolean): Promise<Reply> =>
      act({
        wish: () => ({
          kind: 'connect',
          client: client ?? null,
          started: to === 'project' ? BY_NAME : byPath(),
          system: process.platform,
          to,
          replaces,
          withAgentsMd: agentsMd,
        }),
        operation: 'connect',
        subject: client ?? 'AGENTS.md',
        parameters: {
          client: client ?? null,
          to,
          agents_md: agentsMd,
          ...(replaces ? { replace: true } : {}),
        },
        isDryRun: dryRun,
      })
    const first = await connect(replace)
    const reply = !json && (await isReplaced(first)) ? await connect(true) : first
    return printReply(reply, json, (data, terminal) =>
      reply.status === 'dry_run'
        ? showPlan(Planned.parse(data), terminal)
        : showDone(Done.parse(data), to, terminal),
    )
  })
}

/** Another server has its name there: at a terminal the person is asked. */
async function isReplaced({ error }: Reply): Promise<boolean> {
  if (error?.details['replaceable'] !== true || !canAsk()) return false
  openTerminal().note(printable(error.message))
  return isAgreed('Replace it?')
}

/** A config that others share cannot name a path of this machine. */
const BY_NAME = { command: 'kiwi', args: [] }

/** An application that is no child of a shell may have another PATH. */
function byPath(): { readonly command: string; readonly args: readonly string[] } {
  const [, script = ''] = process.argv
  return { command: process.execPath, args: [realpathSync(script)] }
}

const Files = z.array(z.looseObject({ path: z.string(), state: z.string() }))
const Planned = z.looseObject({ client: z.string().nullable(), entry: z.json(), files: Files })
const Done = z.looseObject({
  output: z.string(),
  client: z.string().nullable(),
  files: Files,
  backup: z.string().nullable(),
})

function showPlan({ client, entry, files }: z.infer<typeof Planned>, terminal: Terminal): void {
  const rows = files.map(({ path, state }) => [
    '',
    state === 'unchanged' ? 'unchanged' : `would be ${state}`,
    path,
  ])
  terminal.out(table(rows))
  if (client !== null) terminal.out(`\n${printable(`${client} would start: ${JSON.stringify(entry)}`)}`)
  terminal.note('\nNothing was written. Leave out --dry-run to connect')
}

function showDone(
  { output, client, files, backup }: z.infer<typeof Done>,
  to: 'user' | 'project',
  terminal: Terminal,
): void {
  terminal.out(printable(output))
  for (const { path, state } of files.slice(1)) terminal.out(printable(`${path} is ${state}`))
  if (backup !== null) terminal.out(printable(`What it was before: ${backup}`))
  if (client === null || files[0]?.state === 'unchanged') return
  terminal.note('\nNext: start the client anew')
  if (to === 'project') terminal.note('Whoever works in this project needs kiwi on their PATH')
  terminal.note('Next: kiwi import mcp (its other servers, behind Kiwi)')
}
