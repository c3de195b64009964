import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { OWN_PROCESS, isLiving, readTag, tagText } from './own-process.ts'

test('N16: a process tells of itself so that another can say whether it lives', () => {
  expect(readTag(tagText(OWN_PROCESS))).toEqual(OWN_PROCESS)
  expect(isLiving(OWN_PROCESS)).toBe(true)
  expect(readTag('')).toBeNull()
  expect(readTag('a:1')).toBeNull()
})

test('N16: who came before with the same number, or before the system was started, is gone', () => {
  expect(isLiving({ ...OWN_PROCESS, start: '1' })).toBe(false)
  expect(isLiving({ ...OWN_PROCESS, boot: 'another' })).toBe(false)
})

test('N16: another machine, or what counts its processes otherwise, cannot be told', () => {
  expect(isLiving({ ...OWN_PROCESS, host: 'another', boot: 'another' })).toBeNull()
  expect(isLiving({ ...OWN_PROCESS, namespace: 'pid:[1]' })).toBeNull()
})

test('N16: where starts are not told, the number decides', async () => {
  const child = spawn('sleep', ['60'])
  const tag = { ...OWN_PROCESS, pid: child.pid ?? 0, start: '' }
  expect(isLiving(tag)).toBe(true)
  child.kill('SIGKILL')
  await once(child, 'close')
  expect(isLiving(tag)).toBe(false)
})
