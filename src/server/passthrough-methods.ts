import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'

type Era = 'legacy' | 'modern'

interface Part {
  readonly methods: readonly string[]
  /** Only in this era; both without it. */
  readonly era?: Era
}

/** What a server that declares a capability answers; below a dot stands a part of it. */
const PARTS: Readonly<Record<string, Part>> = {
  tools: { methods: ['tools/list', 'tools/call'] },
  prompts: { methods: ['prompts/list', 'prompts/get'] },
  resources: { methods: ['resources/list', 'resources/templates/list', 'resources/read'] },
  'resources.subscribe': { methods: ['resources/subscribe', 'resources/unsubscribe'], era: 'legacy' },
  completions: { methods: ['completion/complete'] },
  logging: { methods: ['logging/setLevel'], era: 'legacy' },
  tasks: { methods: ['tasks/get', 'tasks/list', 'tasks/result', 'tasks/cancel'], era: 'legacy' },
}

const EXTENSIONS: Readonly<Record<string, readonly string[]>> = {
  'io.modelcontextprotocol/tasks': ['tasks/get', 'tasks/update', 'tasks/cancel'],
  'io.modelcontextprotocol/skills': ['skills/list', 'skills/get', 'resources/directory/read'],
}

/** The requests that a server with these capabilities answers to clients of an era. */
export function methodsOf(capabilities: JsonObject, era: Era): readonly string[] {
  const parts = Object.entries(PARTS).filter(
    ([path, part]) => (part.era ?? era) === era && isDeclared(capabilities, path.split('.')),
  )
  const { extensions } = capabilities
  const extended = Object.entries(EXTENSIONS).filter(
    ([name]) => isJsonObject(extensions) && Object.hasOwn(extensions, name),
  )
  return [...new Set([...parts.flatMap(([, { methods }]) => methods), ...extended.flatMap(([, own]) => own)])]
}

function isDeclared(value: JsonObject, [key = '', ...more]: readonly string[]): boolean {
  const inner = Object.hasOwn(value, key) ? value[key] : undefined
  if (more.length > 0) return isJsonObject(inner) && isDeclared(inner, more)
  return inner === true || isJsonObject(inner)
}
