import { expect, test } from 'vitest'
import { rankTopics } from './rank-topics.ts'

const TOPICS = [
  { name: 'tools', head: 'tools make a tool', text: 'Make a tool. The reply has status. Kiwi checks it.' },
  { name: 'undo', head: 'undo take back', text: 'Take back what a tool did. Kiwi kept it.' },
  { name: 'runs', head: 'runs', text: 'A run has a run_id. Kiwi ends it.' },
  { name: 'ids', head: 'names', text: 'Run, run and run again. Kiwi knows ids.' },
  { name: 'files', head: 'files', text: 'Kiwi reads files.' },
]

test('S10: a word in the head says more than one in the text, endings do not count', () => {
  expect(rankTopics('how is a tool made', TOPICS)[0]).toBe('tools')
  expect(rankTopics('taking back', TOPICS)).toEqual(['undo'])
})

test('S10: a name with an underscore is one word', () => {
  expect(rankTopics('what is a run_id', TOPICS)[0]).toBe('runs')
})

test('S10: what stands in every topic, or in none, finds none', () => {
  expect(rankTopics('kiwi', TOPICS)).toEqual([])
  expect(rankTopics('how do I bake bread', TOPICS)).toEqual([])
  expect(rankTopics('', TOPICS)).toEqual([])
})
