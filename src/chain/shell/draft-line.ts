import { basename, resolve } from 'node:path'
import { z } from 'zod'
import type { Program } from '../../primitives/subprocess/command.ts'
import type { LineCommand } from '../../primitives/subprocess/run-line.ts'
import type { Environment } from '../../config/environment.ts'
import { KiwiError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import type { DraftMeans, Request } from '../draft-means.ts'
import type { Line, Untaken } from './grammar.ts'
import { compileLine } from './grammar.ts'
import { gitSubcommands } from './git-subcommands.ts'
import { guarded } from './guarded.ts'
import type { JudgedArgv } from './judge-argv.ts'
import { judgeArgv } from './judge-argv.ts'
import type { LineTerms } from './line-terms.ts'
import { pinProgram } from './pin.ts'
import { leadPath } from './lead-path.ts'
import type { PlacedPath } from './place-argv.ts'
import { placeArgv } from './place-argv.ts'
import { familyOf, policiesOf } from './program-family.ts'
import { scriptIn } from './script-in.ts'
import { outlyingPaths } from './word-paths.ts'
import { unavailable } from './unavailable.ts'

/** A command line, compiled, with every program pinned: exactly this is started. */
export interface LineDraft {
  readonly kind: 'line'
  /** Every command in order, for judging and showing; one that is `shell:raw` for a script. */
  readonly commands: readonly LineCommandDraft[]
  readonly line: LineCommand
  /** Where it starts, and whether the call said so. */
  readonly folder: { readonly path: string; readonly isGiven: boolean }
  /** Every command of it changes nothing. */
  readonly isReadOnly: boolean
}

interface LineCommandDraft extends Pick<JudgedArgv, 'fault' | 'runsCode' | 'isReadOnly'> {
  /** As it was written. */
  readonly argv: readonly string[]
  /** The absolute path of what is started, or `shell:raw`. */
  readonly program: string
  /** What it asks of git. */
  readonly git: readonly string[]
  /** What it would read and write, by whole paths. */
  readonly paths: readonly PlacedPath[]
  /** Where it works. */
  readonly folder: string
  /** What it hands to a shell, which only that can read; null for nothing. */
  readonly script: string | null
}

/** The name under which a script that only a shell can read is judged. */
export const RAW = 'shell:raw'

type LineMeans = Pick<DraftMeans, 'childEnvironment' | 'argv'> & {
  readonly find: (name: string) => string
}

export function draftLine(
  terms: LineTerms,
  parameters: JsonObject,
  request: Pick<Request, 'callId' | 'projectPath' | 'rawOffer'>,
  means: LineMeans,
): LineDraft {
  const wish = readWish(parameters)
  const home = request.projectPath ?? means.childEnvironment['HOME'] ?? '/'
  const folder = resolve(home, wish.cwd ?? '')
  const env = {
    ...means.childEnvironment,
    ...(request.projectPath === null ? {} : { KIWI_PROJECT_PATH: request.projectPath }),
    KIWI_CALL_ID: request.callId,
  }
  const { line, commands } = wish.raw
    ? rawScript(wish, { command: means.find(terms.shell), args: [], env, cwd: folder }, means)
    : compiled(
        lineOf(wish, request.rawOffer ?? (() => '')),
        { folder, env, projectPath: request.projectPath },
        means,
      )
  return {
    kind: 'line',
    commands,
    line: {
      steps: line,
      input: wish.input ?? null,
      timeoutMs:
        wish.timeout === undefined ? terms.timeoutMs : Math.min(wish.timeout * 1000, terms.longestMs),
      killGraceMs: terms.killGraceMs,
      maxOutputBytes: terms.maxOutputBytes,
      captureOutput: true,
    },
    folder: { path: folder, isGiven: wish.cwd !== undefined },
    isReadOnly: commands.every(({ isReadOnly }) => isReadOnly),
  }
}

interface Compiled {
  readonly line: readonly { readonly joint: Line[number]['joint']; readonly programs: readonly Program[] }[]
  readonly commands: readonly LineCommandDraft[]
}

interface Place {
  readonly folder: string
  readonly env: Environment
  readonly projectPath: string | null
}

function compiled(line: Line, place: Place, means: LineMeans): Compiled {
  const commands: LineCommandDraft[] = []
  const steps = line.map(({ joint, pipeline }) => ({
    joint,
    programs: pipeline.map((argv) => {
      const { draft, program } = draftCommand(argv, place, means)
      commands.push(draft)
      return program
    }),
  }))
  return { line: steps, commands }
}

function draftCommand(
  argv: readonly string[],
  { folder, env, projectPath }: Place,
  { argv: { policies, broken }, find }: LineMeans,
): { draft: LineCommandDraft; program: Program } {
  const [name = ''] = argv
  const program = pinProgram(name, folder, find)
  const wrong = broken.get(basename(program)) ?? broken.get(familyOf(program))
  if (wrong !== undefined) throw unavailable(name, wrong)
  const known = policiesOf(policies, program)
  const judged = judgeArgv(known, argv)
  const { runsCode, isReadOnly } = judged
  const { fault, paths, env: more } = placeArgv(judged, folder, projectPath)
  const own = { ...without(env, judged.dropEnv), ...more }
  return {
    draft: {
      argv,
      program,
      git: gitSubcommands(program, argv, policies),
      fault,
      runsCode,
      isReadOnly,
      folder: judged.folders.reduce(leadPath, folder),
      script: isReadOnly ? null : scriptIn([program, ...argv.slice(1)], policies),
      paths: known.length > 0 ? paths : outlyingPaths(argv, folder, projectPath),
    },
    program: guarded({ command: program, args: [], env: own, cwd: folder }, judged),
  }
}

function without(env: Environment, dropped: readonly string[]): Environment {
  const isDropped = (name: string): boolean =>
    dropped.some((drop) => (drop.endsWith('*') ? name.startsWith(drop.slice(0, -1)) : name === drop))
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isDropped(name)))
}

/** What only a shell can read is one thing, whatever stands in it. */
function rawScript({ command }: LineWish, shell: Program, { argv: { policies } }: LineMeans): Compiled {
  if (command === undefined) throw invalid('raw', 'needs "command": a list of arguments needs no shell')
  const argv = [RAW, command]
  const git = gitSubcommands(RAW, argv, policies)
  return {
    line: [{ joint: ';', programs: [{ ...shell, args: ['-c', command] }] }],
    commands: [
      {
        argv,
        program: RAW,
        git,
        fault: null,
        runsCode: true,
        isReadOnly: false,
        paths: [],
        folder: shell.cwd,
        script: null,
      },
    ],
  }
}

const LineWish = z.looseObject({
  argv: z.array(z.string()).min(1).optional(),
  command: z.string().optional(),
  cwd: z.string().min(1).optional(),
  timeout: z.number().positive().optional(),
  input: z.string().optional(),
  raw: z.boolean().default(false),
})
type LineWish = z.infer<typeof LineWish>

/** The schema of the tool has seen them; what it says of names is not relied on. */
function readWish(parameters: JsonObject): LineWish {
  const parsed = LineWish.safeParse(parameters)
  if (!parsed.success) throw invalid(parsed.error.issues[0]?.path.join('.') ?? '', 'is not of its type')
  const { argv, command } = parsed.data
  if ((argv === undefined) === (command === undefined))
    throw invalid('command', 'or "argv" is needed, and not both')
  return parsed.data
}

function lineOf({ argv, command = '' }: LineWish, rawOffer: () => string): Line {
  if (argv !== undefined) return [{ joint: ';', pipeline: [argv] }]
  const line = compileLine(command)
  if ('untaken' in line)
    throw isUnfinished(line) ? notTaken(line, '', '') : notTaken(line, OF_A_SHELL, rawOffer())
  return line
}

const OF_A_SHELL = ' is nothing that is run without a shell'

/** What no shell would take either. */
function isUnfinished({ untaken }: Untaken): boolean {
  return /^(?:no|nothing|more) |that is not closed$|without a command before it$/.test(untaken)
}

function notTaken({ untaken, column }: Untaken, why: string, rawOffer: string): KiwiError {
  return new KiwiError('INVALID_PARAMETERS', `Cannot run the command: ${untaken} at column ${column}${why}`, {
    hint: `Use words, 'quotes', "quotes", &&, ||, ;, newlines and |, with cwd, input and argv beside them${rawOffer}`,
    details: {
      missing: [],
      invalid: [{ name: 'command', reason: `${untaken} at column ${column}` }],
      required: RAW,
    },
  })
}

function invalid(name: string, reason: string): KiwiError {
  return new KiwiError('INVALID_PARAMETERS', `Cannot run the command: "${name}" ${reason}`, {
    hint: 'Send one command as argv, or a line of them as command; load shows the schema',
    details: { missing: [], invalid: [{ name, reason }] },
  })
}
