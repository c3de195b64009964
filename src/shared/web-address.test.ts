import { expect, test } from 'vitest'
import { isWebAddress } from './web-address.ts'

test.each([
  'http://x/$(calc)',
  'https://x.example/$(calc)',
  'javascript:alert(1)',
  'file:///x',
  'data:text/html,x',
  'a:$(cmd)?response_type=code',
  'http://example.org/hook',
  'http://127.0.0.1.example.org/',
  'https://x.example/`id`',
  'https://x.example/a b',
  'ftp://x.example/',
  '',
])('CMD-05: %s is no address to go to because somebody names it', (text) => {
  expect(isWebAddress(text)).toBe(false)
})

test.each([
  'https://hooks.example.org/services/T0/B0/x?y=1&z=%20',
  'http://127.0.0.1:8080/hook',
  'http://localhost/hook',
  'http://[::1]:9/',
])('CMD-05: %s is one', (text) => {
  expect(isWebAddress(text)).toBe(true)
})
