import { mkdir, chmod, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { readEnvironment } from '../config/environment.ts'
import { VERSION } from '../shared/version.ts'
import type { Terminal } from './terminal.ts'
import { openTerminal } from './terminal.ts'

/** One step of the tour: what an agent sends, and why. */
interface Step {
  readonly why: string
  readonly tool: 'search' | 'load' | 'execute' | 'help'
  readonly args: Readonly<Record<string, unknown>>
}

const STEPS: readonly Step[] = [
  { why: 'Find a tool by what it does', tool: 'search', args: { query: 'say hello to a name', limit: 3 } },
  { why: 'Look at one', tool: 'load', args: { item_type: 'tool', item_id: 'hello_node' } },
  {
    why: 'Run it',
    tool: 'execute',
    args: { item_type: 'tool', action: 'run', item_id: 'hello_node', parameters: { name: 'Ada' } },
  },
  {
    why: 'Make a tool that was missing, as data',
    tool: 'execute',
    args: {
      item_type: 'tool',
      action: 'create',
      item_id: 'word_count',
      parameters: {
        manifest: {
          tool_type: 'script',
          executor: 'node_runtime',
          description: 'Counts the words of a text',
          parameters: [{ name: 'text', type: 'string', required: true }],
        },
        files: {
          'main.mjs':
            'console.log(JSON.stringify({ words: process.env.KIWI_PARAM_TEXT.split(/\\s+/).length }))',
        },
      },
    },
  },
  {
    why: 'Run what was just made',
    tool: 'execute',
    args: {
      item_type: 'tool',
      action: 'run',
      item_id: 'word_count',
      parameters: { text: 'every effect goes through the gate' },
    },
  },
  {
    why: 'A mistake is answered with what to do',
    tool: 'execute',
    args: { item_type: 'tool', action: 'run', item_id: 'word_count', parameters: { txt: 'oops' } },
  },
]

/** `kiwi demo`: this program plays the agent. It starts the built server as a client would and shows every exchange. */
export async function demoCommand({ json }: { readonly json?: boolean }): Promise<number> {
  const terminal = openTerminal()
  const folder = await mkdtemp(join(tmpdir(), 'kiwi-demo-'))
  // Beside the user space, and not around it.
  const project = join(folder, 'project')
  await mkdir(project)
  const client = new Client({ name: 'kiwi-demo', version: VERSION })
  try {
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [process.argv[1] ?? ''],
        cwd: project,
        env: {
          ...readEnvironment(),
          KIWI_USER_SPACE: join(folder, 'user'),
          KIWI_STORE: join(folder, 'user', 'kiwi.db'),
          XDG_CACHE_HOME: join(folder, 'cache'),
        },
        stderr: 'inherit',
      }),
    )
    const { tools } = await client.listTools()
    const exchanges: unknown[] = []
    if (json !== true)
      terminal.out(
        `A client connected over stdio and sees ${tools.length} tools: ${tools.map(({ name }) => name).join(', ')}\n`,
      )
    for (const step of STEPS) {
      const result = await client.callTool({ name: step.tool, arguments: { ...step.args } })
      const reply: unknown = result.structuredContent
      exchanges.push({ ...step, reply })
      if (json !== true) show(step, reply, terminal)
    }
    if (json === true)
      terminal.out(JSON.stringify({ tools: tools.map(({ name }) => name), exchanges }, null, 2))
    else
      terminal.out(
        'Everything above happened in a folder that is gone now. Connect your own client: see the README.',
      )
    return 0
  } finally {
    await client.close()
    await remove(folder)
  }
}

/** Work folders are read-only, which also keeps what is in them from being removed. */
async function remove(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) await chmod(join(entry.parentPath, entry.name), 0o700)
  }
  await rm(folder, { recursive: true, force: true })
}

const LONGEST_LINE = 140
const MOST_LINES = 22

function show({ why, tool, args }: Step, reply: unknown, terminal: Terminal): void {
  terminal.out(terminal.bold(`# ${why}`))
  terminal.out(`> ${tool} ${JSON.stringify(args)}`)
  const lines = linesOf(reply, '')
  for (const line of lines.slice(0, MOST_LINES)) terminal.out(terminal.dim(`  ${line}`))
  if (lines.length > MOST_LINES)
    terminal.out(terminal.dim(`  ... ${lines.length - MOST_LINES} more lines (--json shows all)`))
  terminal.out('')
}

/** A value as indented lines: a key or an entry each, long texts cut to what fits on a screen. */
function linesOf(value: unknown, indent: string): readonly string[] {
  if (typeof value !== 'object' || value === null) return [cut(`${indent}${JSON.stringify(value)}`)]
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]) => {
    const name = Array.isArray(value) ? '-' : `${key}:`
    const short = JSON.stringify(inner)
    if (typeof inner !== 'object' || inner === null || short.length + indent.length < LONGEST_LINE / 2) {
      return [cut(`${indent}${name} ${short}`)]
    }
    return [`${indent}${name}`, ...linesOf(inner, `${indent}  `)]
  })
}

function cut(line: string): string {
  return line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}...` : line
}
