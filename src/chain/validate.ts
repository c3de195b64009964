import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { childEnvironment } from '../config/environment.ts'
import type { Subprocess } from '../primitives/subprocess/subprocess.ts'
import type { Clock } from '../shared/clock.ts'
import { LIMITS } from '../shared/limits.ts'
import type { Maybe } from '../shared/maybe.ts'
import type { Stop } from '../shared/stop.ts'
import type { Item } from '../spaces/item.ts'
import { runnableFiles } from '../spaces/item.ts'
import type { ItemFile } from '../store/store.ts'
import type { SyntaxMeans } from './check-syntax.ts'
import { checkSyntax, pinPrograms } from './check-syntax.ts'
import { filesAsRead } from './files-as-read.ts'
import type { Finding } from './finding.ts'
import type { Plan } from './plan.ts'
import type { Rule } from './rules.ts'
import type { Schemas } from './schemas.ts'
import { describeFindings } from './schemas.ts'
import type { TextFile } from './search-patterns.ts'
import { matcherOf, searchPatterns } from './search-patterns.ts'
import type { Validated } from './validated-cache.ts'
import { openValidatedCache } from './validated-cache.ts'

/** What the rules of a chain say about its first item. */
interface Validation {
  /** Programs that have to be started to know all of it; none when it is known. */
  readonly programs: readonly string[]
  /** What is known without starting one. */
  readonly found: Validated
  /** Starts them and gives the whole. */
  finish(signal?: Stop): Maybe<Validated>
}

/** On whose behalf an item is looked at. */
interface Occasion {
  readonly callId: string
  /** It is about to run, and somebody has judged that it may: then its own programs are started too. */
  readonly isRun: boolean
}

export type Validate = (plan: Plan, occasion: Occasion) => Maybe<Validation>

interface ValidateMeans {
  readonly clock: Clock
  readonly config: Config
  readonly subprocess: Subprocess
  readonly schemas: Schemas
}

/** Equal content under equal rules is looked at once, by whichever process comes first. */
export function openValidate({ clock, config, subprocess, schemas }: ValidateMeans): Validate {
  const cache = openValidatedCache(config.cache)
  const syntaxMeans: SyntaxMeans = {
    subprocess,
    childEnvironment: childEnvironment(config.environment),
    clock,
    folder: join(config.cache, 'checks'),
    deadlineMs: LIMITS.checkMs,
  }
  const lookOver = async (plan: Plan, { callId, isRun }: Occasion): Promise<Validation> => {
    const { rules, key } = plan.rules
    const kept = await cache.get(key)
    if (kept !== null) return known(kept)
    const files = runnableFiles(plan.item.raw, await filesAsRead(plan.item))
    const looked = await lookAt(plan, textsOf(files), schemas)
    const programs = rules.filter((rule) => rule.type === 'syntax_check')
    const asked = programs.filter(({ tool }) => isRun || tool !== plan.item.id)
    const isWhole = asked.length === programs.length
    const found = isWhole ? looked : { ...looked, warnings: [...looked.warnings, ownLater(plan.item)] }
    if (asked.length === 0) {
      if (isWhole) await cache.set(key, found)
      return known(found)
    }
    const checks = pinPrograms(asked, syntaxMeans)
    return {
      programs: [...new Set(checks.flatMap(({ program }) => program ?? []))],
      found,
      async finish(signal) {
        const checked = await checkSyntax(
          checks,
          { entrypoint: entrypointOf(plan), files, callId },
          syntaxMeans,
          signal,
        )
        const whole = {
          findings: [...found.findings, ...checked.findings],
          warnings: [...found.warnings, ...checked.warnings],
        }
        if (isWhole && checked.isLasting) await cache.set(key, whole)
        return whole
      },
    }
  }
  return (plan, occasion) =>
    plan.rules.rules.length === 0
      ? known({ findings: [], warnings: plan.rules.warnings })
      : lookOver(plan, occasion)
}

/** Whoever writes an item must not have programs started by its word alone. */
function ownLater({ id }: Item): string {
  return `the programs that "${id}" names in its own rules are started when it runs`
}

function known(found: Validated): Validation {
  return { programs: [], found, finish: () => found }
}

function entrypointOf({ effect }: Plan): string | null {
  return effect.kind === 'subprocess' ? effect.command.entrypoint : null
}

/** The rules that need no program. */
async function lookAt(plan: Plan, texts: readonly TextFile[], schemas: Schemas): Promise<Validated> {
  const findings: Finding[] = []
  const warnings: string[] = [...plan.rules.warnings]
  for (const rule of plan.rules.rules) {
    const found = await findingsOf(rule, plan, texts, schemas)
    if (rule.type !== 'pattern_check' || rule.isBlocking) findings.push(...found)
    else
      warnings.push(
        ...found.map(({ path, line, reason }) => `${path}${line === null ? '' : `:${line}`} ${reason}`),
      )
  }
  return { findings, warnings }
}

async function findingsOf(
  rule: Rule,
  plan: Plan,
  texts: readonly TextFile[],
  schemas: Schemas,
): Promise<readonly Finding[]> {
  const { type, tool } = rule
  switch (type) {
    case 'syntax_check':
      return []
    case 'pattern_check':
      return searchPatterns(rule, texts)
    case 'shebang_required': {
      const entry = texts.find(({ path }) => path === entrypointOf(plan))
      const [firstLine = ''] = entry?.text.split('\n', 1) ?? []
      const at = entry === undefined ? 0 : await (await matcherOf(rule.pattern, tool))(firstLine)
      if (entry === undefined || at === 0 || (at !== null && rule.pattern.isExpression)) return []
      const reason = `its first line is no shebang that fits ${JSON.stringify(rule.pattern.name)}`
      return [{ rule: type, tool, path: entry.path, line: 1, reason }]
    }
    case 'child_schema': {
      const check = await schemas.compile(rule.schema, `a schema under validation.child_schemas of "${tool}"`)
      const faults = check(structuredClone(rule.child.manifest))
      if (faults === null) return []
      const reason = `the manifest of "${rule.child.id}" does not fit "${tool}": ${describeFindings(faults)}`
      return [{ rule: type, tool, path: null, line: null, reason }]
    }
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** What is no text cannot be read by a rule about texts. */
function textsOf(files: readonly ItemFile[]): readonly TextFile[] {
  return files.flatMap(({ path, content }) => {
    if (content.includes(0)) return []
    try {
      return [{ path, text: UTF8.decode(content) }]
    } catch {
      return []
    }
  })
}
