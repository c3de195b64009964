import { expect, test } from 'vitest'
import { openBrowser } from './open-browser.ts'

const opened = (address: string): readonly (readonly string[])[] => {
  const started: string[][] = []
  openBrowser(address, { PATH: '/bin' }, (command, args) => void started.push([command, ...args]))
  return started
}

test('CMD-05: an address is one argument of one program', () => {
  const [[, ...args] = []] = opened('https://issuer.example/authorize?a=$(calc)&b=`id`;x')
  expect(args.at(-1)).toBe('https://issuer.example/authorize?a=$(calc)&b=`id`;x')
})

test.each([
  'http://x/$(calc)',
  'javascript:alert(1)',
  'file:///x',
  'data:text/html,x',
  'a:$(cmd)?x',
  '-x',
  '',
])('CMD-05: %j is not opened', (address) => {
  expect(opened(address)).toEqual([])
})
