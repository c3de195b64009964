import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Policy, PolicyFile } from '../kernel/policy/policy.ts'
import { policyFaultText } from '../kernel/policy/policy-fault.ts'
import { isObject } from '../shared/json.ts'
import type { Finding } from './finding.ts'

/** What the harness files say, what is wrong with them, and what the clients of the project have besides Kiwi. */
export function policyFindings({ files, faults, conflicts }: Policy, project: string): readonly Finding[] {
  const name = 'policy'
  const own = files.filter(({ place }) => place !== 'builtin')
  const modes = own
    .filter(({ path }) => !faults.some(({ file }) => file === path))
    .map(({ path, place, mode }): Finding => ({
      name,
      state: 'ok',
      detail: `${place}, ${mode} mode: ${path}`,
    }))
  const wrong = faults.map((fault): Finding => ({
    name,
    state: 'fail',
    code: 'POLICY_ERROR',
    detail: policyFaultText(fault),
    fix: `Correct ${fault.file}: until then nothing runs and nothing is written`,
  }))
  const idle = own
    .filter(({ hasIdleNotices }) => hasIdleNotices)
    .map(({ path }): Finding => ({
      name,
      state: 'warn',
      detail: `${path} says where notices go, which a project cannot`,
      fix: 'Write notify into the harness file of the user space',
    }))
  const unsent = own
    .filter((file) => file.unsent.length > 0)
    .map(({ path, unsent: kinds }): Finding => ({
      name,
      state: 'warn',
      detail: `${path} asks for notices by ${kinds.join(' and ')}, of which none are sent yet`,
      fix: 'Write notify.webhook or notify.slack',
    }))
  const crossed = conflicts.map(({ what, allowedAt, deniedAt }): Finding => ({
    name,
    state: 'warn',
    detail: `${what} is allowed at ${allowedAt} and denied at ${deniedAt}: it stays denied`,
    fix: 'Take one of the two lines away',
  }))
  return [
    ...modes,
    ...wrong,
    ...idle,
    ...unsent,
    ...crossed,
    ...own.flatMap((file) => clientFindings(file, project)),
  ]
}

/** Where clients keep the servers of a project, and the key they stand under. */
const CLIENT_FILES = [
  ['.mcp.json', 'mcpServers'],
  ['.cursor/mcp.json', 'mcpServers'],
  ['.vscode/mcp.json', 'servers'],
] as const

/** Kiwi is not asked when a client starts a server of its own: it can only tell. */
function clientFindings({ allowedMcps, path }: PolicyFile, project: string): readonly Finding[] {
  if (allowedMcps === null) return []
  return CLIENT_FILES.flatMap(([file, key]): readonly Finding[] => {
    const servers = serversIn(join(project, file), key)
    const others = servers.filter((server) => !allowedMcps.includes(server))
    if (others.length === 0) return []
    return [
      {
        name: 'client',
        state: 'warn',
        detail: `${file} gives the agent ${others.join(', ')}, which allowed_mcps of ${path} does not list`,
        fix: `Take it out of ${file}: what goes past Kiwi is neither judged nor recorded`,
      },
    ]
  })
}

function serversIn(file: string, key: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
    const servers = isObject(value) ? value[key] : undefined
    return isObject(servers) ? Object.keys(servers) : []
  } catch {
    return []
  }
}
