import { z } from 'zod'
import { readItemType } from '../meta/arguments.ts'
import { findItem } from '../meta/find-item.ts'
import { parseItemRef } from '../shared/ids.ts'
import type { Reply } from '../shared/reply.ts'
import { withInputs } from '../spaces/directive/with-inputs.ts'
import { inputSchema } from '../spaces/input-schema.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { needsSchema, readParameters } from './parameters.ts'
import { openProgressLine } from './progress-line.ts'
import { showRun, wholeRun } from './shown-run.ts'
import { openTerminal, printReply, printableText } from './terminal.ts'
import type { CommonOptions, Session } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

const Result = z.looseObject({
  output: z.unknown().optional(),
  stderr: z.string().optional(),
  undo_id: z.string().optional(),
})

interface RunOptions extends CommonOptions {
  readonly params?: string
  readonly type?: string
  readonly run?: string
  readonly dryRun?: boolean
}

/** `kiwi run <id> name=text count:=3` */
export function runCommand(id: string, pairs: readonly string[], options: RunOptions): Promise<number> {
  return withKiwi(options, async (session) => {
    const { call, kiwi, project } = session
    const type = options.type ?? (await typeOf(id, kiwi.spaces.at(project)))
    const schema = needsSchema(pairs) ? await schemaOf(id, type, session) : null
    const progress = openProgressLine(options.json !== true)
    const reply = await call(
      'execute',
      {
        item_type: type,
        action: 'run',
        item_id: id,
        parameters: readParameters(pairs, options.params, schema),
        dry_run: options.dryRun === true,
        ...(options.run === undefined ? {} : { run_id: options.run }),
      },
      progress.report,
    )
    progress.clear()
    const ready = reply.status === 'ready' && options.json !== true ? await wholeRun(reply.data, call) : null
    const code = printReply(reply, options.json === true, (data, terminal) => {
      if (reply.status === 'dry_run') return terminal.out(printableText(JSON.stringify(data, null, 2)))
      if (ready !== null) return showRun(ready, terminal)
      const { output, stderr, undo_id: undoId } = Result.parse(data)
      if (stderr !== undefined) terminal.note(stderr.trimEnd())
      terminal.out(shown(output))
      if (undoId !== undefined) terminal.note(`Take it back: kiwi undo ${undoId}`)
    })
    if (options.json !== true) showPart(reply)
    return code
  })
}

/** What was finished before it failed. */
function showPart({ error, data }: Reply): void {
  if (error === null || data === null) return
  const { output, stderr } = Result.parse(data)
  if (output !== undefined && output !== null && output !== '') openTerminal().out(shown(output))
  // That it took too long is said already.
  const said = error.code === 'TIMEOUT' ? stderr?.replace(/Process timed out after [\d.]+ s$/, '') : stderr
  if (said !== undefined && said.trim() !== '') openTerminal().note(said.trimEnd())
}

function shown(output: unknown): string {
  return typeof output === 'string' ? output.trimEnd() : JSON.stringify(output, null, 2)
}

/** What has the id: a directive is begun, and all else is run as a tool. */
async function typeOf(id: string, lookup: Lookup): Promise<'tool' | 'directive'> {
  try {
    const { manifest } = await findItem(lookup, parseItemRef(id), 'tool')
    return manifest.tool_type === 'directive' ? 'directive' : 'tool'
  } catch {
    return 'tool'
  }
}

/** What the tool takes; what is wrong with its name is for the run to say. */
async function schemaOf(id: string, type: string, { kiwi, project, call }: Session): Promise<unknown> {
  const lookup = kiwi.spaces.at(project)
  const known = (): Promise<unknown> =>
    findItem(lookup, parseItemRef(id), readItemType(type))
      .then(async (item) => inputSchema((await withInputs(item, lookup)).manifest))
      .catch(() => null)
  const schema = await known()
  if (schema !== null || !(await isOfServer(id, lookup))) return schema
  // A server that was never asked is asked by this.
  await call('load', { item_type: type, item_id: id })
  return known()
}

async function isOfServer(id: string, lookup: Lookup): Promise<boolean> {
  try {
    return id.includes('.') && (await lookup.serverFor(id)) !== null
  } catch {
    return false
  }
}
