import { expect, test } from 'vitest'
import { methodsOf } from './passthrough-methods.ts'

const WHOLE = {
  tools: { listChanged: true },
  prompts: {},
  resources: { subscribe: true },
  completions: {},
  logging: {},
  extensions: { 'io.modelcontextprotocol/tasks': {}, 'io.modelcontextprotocol/skills': {}, other: {} },
}
const BOTH = [
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
  'tasks/get',
  'tasks/update',
  'tasks/cancel',
  'skills/list',
  'skills/get',
  'resources/directory/read',
]

test('X2: what a server declares is passed on, each method in its era', () => {
  const olderOnly = ['resources/subscribe', 'resources/unsubscribe', 'logging/setLevel']
  expect(methodsOf(WHOLE, 'modern').toSorted()).toEqual(BOTH.toSorted())
  expect(methodsOf(WHOLE, 'legacy').toSorted()).toEqual([...BOTH, ...olderOnly].toSorted())
})

test('X2: what it does not declare is not', () => {
  expect(methodsOf({}, 'modern')).toEqual([])
  expect(methodsOf({ tools: null, resources: { subscribe: false }, extensions: [] }, 'legacy')).toEqual([
    'resources/list',
    'resources/templates/list',
    'resources/read',
  ])
})

test('X2: tasks of the older era are those of the core', () => {
  const tasks = ['tasks/get', 'tasks/list', 'tasks/result', 'tasks/cancel']
  expect(methodsOf({ tasks: {} }, 'legacy')).toEqual(tasks)
  expect(methodsOf({ tasks: {} }, 'modern')).toEqual([])
})
