import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sampleApproval } from '../../test/fixtures/store-samples.ts'
import type { Question } from '../kernel/questions.ts'
import { createRedact, keepAll } from '../shared/redact.ts'
import { shownQuestion as shownTo } from './answer.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kiwi-answer-'))
  file = join(folder, 'a.txt')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const shownQuestion = (asked: Question, isFull: boolean, redact = keepAll): string =>
  shownTo(asked, isFull, redact)

function question(more: object): Question {
  const summary = {
    tool: 'filesystem.write',
    version: '1.0.0',
    action: 'run',
    parameters: { path: 'a.txt' },
    would: {},
    undo: null,
    asks: [
      {
        layer: 'user harness',
        rule: 'user/filesystem',
        op: 'tool',
        resource: 'filesystem.write',
        reason: 'thrice',
      },
    ],
    ...more,
  }
  return { ...sampleApproval({ summary }), isOurs: true }
}

test('H9, APR-08: what would become of a file is shown against what it is now, whatever does not show made visible', () => {
  writeFileSync(file, 'one\ntwo "2"\nthree\n')
  const shown = shownQuestion(
    question({ change: { path: file, content: 'one\n\u001B[2Jtwo\nthree\n' } }),
    false,
  )
  expect(shown).toContain(`changes   "${file}"`)
  expect(shown).toContain(String.raw`-two "2"
+\u{1b}[2Jtwo`)
  expect(shown).toContain('layer user harness rule user/filesystem: tool filesystem.write (thrice)')
})

test('H9: a new file is all new, and a link, a folder or a large file is not read', () => {
  const change = { path: file, content: 'x\n' }
  expect(shownQuestion(question({ change }), false)).toContain('@@ -0,0 +1,1 @@\n+x')
  symlinkSync('/etc/passwd', file)
  expect(shownQuestion(question({ change }), false)).toContain('too large or too different')
  expect(shownQuestion(question({ change: { ...change, path: folder } }), false)).toContain('too large')
})

test('APR-08: a long difference is bounded, and all of it is there on demand', () => {
  const content = Array.from({ length: 1000 }, (_, at) => `line ${at}\n`).join('')
  const asked = question({ change: { path: file, content } })
  expect(shownQuestion(asked, false)).toContain(`more lines: kiwi approvals ${asked.id} --full`)
  expect(shownQuestion(asked, true)).toContain('+line 999')
})

test('H9: whether it can be undone, what it starts and what it sends are said', () => {
  const would = {
    would_run: { command: '/bin/rm', args: ['-rf', 'a b\n'], cwd: '/home' },
    would_send: { method: 'POST', url: 'https://example.com/' },
  }
  const shown = shownQuestion(
    { ...question({ would, undo: 'cannot be undone: it sends' }), isOurs: false },
    false,
  )
  expect(shown).toContain(String.raw`starts    "/bin/rm" "-rf" "a b\n"`)
  expect(shown).toContain('in        "/home"')
  expect(shown).toContain('sends     POST https://example.com/')
  expect(shown).toContain('undo      cannot be undone: it sends')
  expect(shown).toContain('it cannot be approved')
  const commands = [
    ['/usr/bin/git', 'commit', '-m', 'a; b'],
    ['/usr/bin/git', 'push'],
  ]
  expect(shownQuestion(question({ would, commands }), false)).toContain(
    'starts    "/usr/bin/git" "commit" "-m" "a; b"\n          "/usr/bin/git" "push"\n',
  )
})

test('H9: a folder in what is said of the undo is quoted once', () => {
  const undo = 'can be undone: what "/tmp/x" holds now is kept'
  expect(shownQuestion(question({ undo }), false)).toContain(`undo      ${undo}\n`)
})

test('APR-08: a line too long to be shown is left out whole, and said to be', () => {
  const change = { path: file, content: `${'x'.repeat(100_000)}\nhidden\n` }
  const asked = question({ change })
  expect(shownQuestion(asked, false)).toMatch(/@@\n\.\.\. 2 more lines: kiwi approvals \w+ --full$/)
  expect(shownQuestion(asked, true)).toContain('+hidden')
})

test('X7, APR-08: a secret is taken out of what a file holds now, and where it stays as it is no change is shown', () => {
  const redact = createRedact([['KEY', 'kiwi-canary-0123456789']])
  writeFileSync(file, 'a\nkey=kiwi-canary-0123456789\nb\n')
  const kept = question({ change: { path: file, content: 'a\nkey=[REDACTED:KEY]\nc\n' } })
  const shown = shownQuestion(kept, true, redact)
  expect(shown).toContain(' key=[REDACTED:KEY]\n-b\n+c')
  expect(shown).not.toContain('canary')
  const dropped = question({ change: { path: file, content: 'a\nb\n' } })
  expect(shownQuestion(dropped, true, redact)).toContain('-key=[REDACTED:KEY]')
})
