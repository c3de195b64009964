import { realpathSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Config } from '../config/config.ts'
import type { Environment } from '../config/environment.ts'
import { KiwiError } from '../shared/errors.ts'
import { canonicalJson, sha256 } from '../shared/json.ts'
import type { Redact } from '../shared/redact.ts'
import type { Item } from '../spaces/item.ts'
import type { Builder, BuildWords, FindBuilderProgram } from './build-steps.ts'
import { chooseBuilder, firstPrograms, programMissing, renderVariables } from './build-steps.ts'
import type { EnvironmentPlan } from './environment-plan.ts'
import { packageOptions, redactOptions } from './package-options.ts'
import type { Requirement } from './requirements.ts'
import { requirementText, showRequirement } from './requirements.ts'

/** An environment of one call: where it lies, and how it is built when it does not. */
export interface EnvironmentDraft {
  readonly tool: string
  /** Named by everything it is made of; holds the environment and, while it is built, its lock. */
  readonly place: string
  /** The environment itself: a link to the folder that was built. */
  readonly folder: string
  /** What must be there for it to be ready. */
  readonly product: string
  readonly packages: readonly string[]
  /** Whether nobody named them: they were found among the imports. */
  readonly isGuessed: boolean
  /** Whether it is the tool's own program that is made. */
  readonly isCompiled: boolean
  readonly holdsFiles: boolean
  /** Variables for the program that runs with it. */
  readonly env: Readonly<Record<string, string>>
  /** Null when it is there already. */
  readonly builder: Builder | null
  /** Written before the first step. */
  readonly files: readonly { readonly name: string; readonly text: string }[]
  readonly timeoutMs: number
  readonly redact: Redact
}

export interface EnvironmentMeans {
  readonly cache: string
  readonly childEnvironment: Environment
  readonly packages: Config['packages']
  readonly findProgram: (command: string, path: string) => string | null
}

/** What one call adds to what is planned. */
interface Circumstances extends Pick<BuildWords, 'callId' | 'entrypoint' | 'interpreter'> {
  readonly item: Item
  readonly requirements: readonly Requirement[]
  /** Of what its steps are made of besides their words; null when that is nothing. */
  readonly runtimeHash: string | null
}

/** Works out which environment a call needs. Nothing is started: what builds it has to be judged first. */
export function draftEnvironment(
  planned: EnvironmentPlan,
  circumstances: Circumstances,
  means: EnvironmentMeans,
): EnvironmentDraft {
  const { packages } = planned
  const { item, interpreter, requirements } = circumstances
  const { childEnvironment } = means
  const names = requirements.map(showRequirement)
  const options = packageOptions(planned, means.packages)
  const find: FindBuilderProgram = (program) =>
    program === '{interpreter}' ? interpreter : means.findProgram(program, childEnvironment['PATH'] ?? '')
  const maker = interpreter ?? firstPrograms(planned).map(find).find(isFound)
  if (maker === undefined) throw programMissing(item.id, firstPrograms(planned).join(' or '))
  const key = keyOf({
    maker: identityOf(maker),
    content: packages === null ? [item.contentHash] : names.toSorted(),
    options,
    builders: planned.builders,
    env: planned.env,
    runtime: circumstances.runtimeHash,
  })
  const place = join(rootOf(planned, means), planned.runtime.id, key)
  const folder = join(place, 'current')
  const product = join(folder, planned.product ?? '')
  const words = { ...circumstances, options, childEnvironment, packages: names }
  return {
    tool: item.id,
    place,
    folder,
    product,
    packages: names,
    isGuessed: packages?.isDeclared === false,
    isCompiled: packages === null,
    holdsFiles: packages?.holdsFiles === true,
    env: renderVariables(planned, folder, childEnvironment),
    builder: isThere(product) ? null : chooseBuilder(planned, find, words, item.id),
    files:
      packages === null
        ? []
        : [{ name: packages.file, text: requirementText(requirements, packages.format) }],
    timeoutMs: planned.timeoutMs,
    redact: redactOptions(planned, means.packages),
  }
}

const isFound = (program: string | null): program is string => program !== null

/** Follows links: an environment whose interpreter is gone is none. */
export function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false
  }
}

function keyOf(parts: Readonly<Record<string, unknown>>): string {
  return sha256(canonicalJson({ ...parts, platform: `${process.platform} ${process.arch}` })).slice(0, 32)
}

/** A program that was replaced is another one, whatever it is called. To ask it would be to start it. */
function identityOf(program: string): string {
  try {
    const path = realpathSync(program)
    const { mtimeMs, size } = statSync(path)
    return `${path} ${mtimeMs} ${size}`
  } catch {
    return program
  }
}

/** `~/.cache/kiwi` is how a manifest writes the cache, wherever it is. */
function rootOf({ packages }: EnvironmentPlan, { cache, childEnvironment }: EnvironmentMeans): string {
  const given = packages?.root ?? null
  if (given === null) return join(cache, 'environments')
  const home = childEnvironment['HOME'] ?? '~'
  const root = resolve(
    given.replace(/^~\/\.cache\/kiwi(?=\/|$)/, () => cache).replace(/^~(?=\/|$)/, () => home),
  )
  if (root.startsWith(`${cache}/`)) return root
  throw new KiwiError('INVALID_CONFIG', `Cannot use "${given}" for environments: it is not in Kiwi's cache`, {
    hint: 'Remove venv.cache_dir from the config, or name a folder below ~/.cache/kiwi',
  })
}
