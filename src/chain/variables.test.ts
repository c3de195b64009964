import { describe, expect, test } from 'vitest'
import type { Grant } from '../config/config.ts'
import { createRedact } from '../shared/redact.ts'
import type { VariableSegment } from '../shared/template.ts'
import { sampleItem } from '../../test/fixtures/sample-item.ts'
import type { Variables } from './variables.ts'
import { openVariables } from './variables.ts'

const DIGEST = 'a'.repeat(64)
const ENVIRONMENT = {
  HOME: '/home/me',
  PATH: '/bin',
  LC_ALL: 'C',
  TOKEN: 'kiwi-canary-0123456789',
  OTHER: 'other-secret',
  EMPTY: '',
}
const item = sampleItem({ tool_id: 'weather', tool_type: 'api', executor: 'http_client' })

const open = (declared: readonly string[], grants: readonly Grant[], digest = DIGEST): Variables =>
  openVariables(
    { item, secrets: new Set(declared), digest },
    { environment: ENVIRONMENT, grants, projectPath: '/project' },
  )
const grant = (...names: readonly string[]): Grant => ({ tool: 'weather', hash: DIGEST, names: [...names] })
const plain = (name: string): VariableSegment => ({ kind: 'variable', name, form: 'plain', operand: '' })
const orElse = (name: string, operand: string): VariableSegment => ({
  kind: 'variable',
  name,
  form: 'default',
  operand,
})
const ifSet = (name: string, operand: string): VariableSegment => ({
  kind: 'variable',
  name,
  form: 'alternate',
  operand,
})

describe('ENV-02: only what was declared and granted is read', () => {
  test('a variable without a grant is refused, with the grant ready to be given', () => {
    const { required, optional, secrets } = open(['TOKEN'], [])
    const refusal = expect.objectContaining({
      code: 'SECRET_NOT_GRANTED',
      message: 'Cannot run "weather": it asks for TOKEN without a grant',
      details: { required: { tool: 'weather', hash: DIGEST, names: ['TOKEN'] }, layer: 'grants', rule: null },
    })
    expect(() => required(plain('TOKEN'))).toThrow(refusal)
    expect(() => optional(plain('TOKEN'))).toThrow(refusal)
    expect(secrets.size).toBe(0)
  })

  test('the grant that the refusal shows is the one that helps', () => {
    let shown: Grant | null = null
    try {
      open(['TOKEN'], []).required(plain('TOKEN'))
    } catch (error) {
      const hint = error instanceof Error && 'hint' in error ? String(error.hint) : ''
      shown = JSON.parse(/\{.*\}/.exec(hint)?.[0] ?? 'null')
    }
    expect(shown).not.toBeNull()
    expect(open(['TOKEN'], shown === null ? [] : [shown]).required(plain('TOKEN'))).toBe(ENVIRONMENT.TOKEN)
  })

  test.each<[string, readonly string[], Grant, string]>([
    ['another tool', ['TOKEN'], { ...grant('TOKEN'), tool: 'other' }, DIGEST],
    ['other content', ['TOKEN'], grant('TOKEN'), 'b'.repeat(64)],
    ['other names', ['TOKEN'], grant('OTHER'), DIGEST],
    ['a name that the manifest does not declare', ['OTHER'], grant('TOKEN'), DIGEST],
  ])('a grant for %s gives nothing', (_, declared, given, digest) => {
    expect(() => open(declared, [given], digest).optional(plain('TOKEN'))).toThrow(
      expect.objectContaining({ code: 'SECRET_NOT_GRANTED' }),
    )
  })

  test('an undeclared name is told to be declared first', () => {
    expect(() => open([], [grant('TOKEN')]).optional(plain('TOKEN'))).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('declare TOKEN under "secrets"') }),
    )
  })

  test('several grants for one tool add up', () => {
    const { required } = open(['TOKEN', 'OTHER'], [grant('TOKEN'), grant('OTHER')])
    expect([required(plain('TOKEN')), required(plain('OTHER'))]).toEqual([
      ENVIRONMENT.TOKEN,
      ENVIRONMENT.OTHER,
    ])
  })
})

describe('P5: the forms of a variable', () => {
  const variables = open(['TOKEN', 'EMPTY', 'UNSET'], [grant('TOKEN', 'EMPTY', 'UNSET')])

  test.each<[string, VariableSegment, string]>([
    ['set', plain('TOKEN'), ENVIRONMENT.TOKEN],
    ['set, with a default', orElse('TOKEN', 'd'), ENVIRONMENT.TOKEN],
    ['empty, with a default', orElse('EMPTY', 'd'), 'd'],
    ['unset, with a default', orElse('UNSET', 'd'), 'd'],
    ['set, with an alternate', ifSet('TOKEN', 'a'), 'a'],
    ['empty, with an alternate', ifSet('EMPTY', 'a'), ''],
    ['unset, with an alternate', ifSet('UNSET', 'a'), ''],
    ['not granted, with a default', orElse('OTHER', 'd'), 'd'],
    ['not granted, with an alternate', ifSet('OTHER', 'a'), ''],
    ['one that every child sees', plain('HOME'), '/home/me'],
    ['one of the language', plain('LC_ALL'), 'C'],
    ['the project', plain('PROJECT_PATH'), '/project'],
  ])('%s', (_, segment, expected) => {
    expect(variables.optional(segment)).toBe(expected)
    expect(variables.required(segment)).toBe(expected)
  })

  test.each(['EMPTY', 'UNSET', 'TZ'])(
    '%s is empty where that may be, and refused where it may not',
    (name) => {
      expect(variables.optional(plain(name))).toBe('')
      expect(() => variables.required(plain(name))).toThrow(
        expect.objectContaining({ code: 'MISSING_SECRET', details: { name } }),
      )
    },
  )

  test('there is no project, so its path is empty', () => {
    const { optional } = openVariables(
      { item, secrets: new Set(), digest: DIGEST },
      { environment: ENVIRONMENT, grants: [], projectPath: null },
    )
    expect(optional(plain('PROJECT_PATH'))).toBe('')
  })

  test.each(['constructor', 'toString', '__proto__'])('"%s" is no variable', (name) => {
    expect(() => variables.optional(plain(name))).toThrow(
      expect.objectContaining({ code: 'SECRET_NOT_GRANTED' }),
    )
  })
})

describe('ENV-02, N1: the whole environment is one more thing that a person grants', () => {
  const refusal = expect.objectContaining({
    code: 'SECRET_NOT_GRANTED',
    message: 'Cannot run "weather": it asks for all variables without a grant',
    hint: expect.stringContaining(`A person has to add ${JSON.stringify(grant('*'))} to "grants"`),
    details: { required: grant('*'), layer: 'grants', rule: null },
  })

  test('without a grant it is refused, with the grant ready to be given', () => {
    expect(() => open([], []).all()).toThrow(refusal)
    expect(() => open(['TOKEN', '*'], [grant('TOKEN', 'OTHER')]).all()).toThrow(refusal)
    expect(() => open([], [grant('*')], 'b'.repeat(64)).all()).toThrow(
      expect.objectContaining({ code: 'SECRET_NOT_GRANTED' }),
    )
  })

  test('with it all is passed on, and what not every child sees is a secret', () => {
    const { all, secrets } = open([], [grant('*')])
    expect(all()).toEqual(ENVIRONMENT)
    expect(secrets).toEqual(
      new Map([
        ['TOKEN', ENVIRONMENT.TOKEN],
        ['OTHER', ENVIRONMENT.OTHER],
      ]),
    )
  })

  test('a value that every child sees under another name is no secret', () => {
    const { all, secrets } = openVariables(
      { item, secrets: new Set(), digest: DIGEST },
      { environment: { HOME: '/home/me', OLDPWD: '/home/me' }, grants: [grant('*')], projectPath: null },
    )
    all()
    expect(secrets.size).toBe(0)
  })

  test('it lets no template read what the manifest does not declare', () => {
    expect(() => open([], [grant('*')]).optional(plain('TOKEN'))).toThrow(
      expect.objectContaining({ code: 'SECRET_NOT_GRANTED' }),
    )
  })
})

describe('RED-01: what was used is known, so that it can be taken out again', () => {
  test('a granted value that was put somewhere', () => {
    const { optional, secrets } = open(['TOKEN', 'OTHER'], [grant('TOKEN', 'OTHER')])
    optional(plain('TOKEN'))
    optional(plain('HOME'))
    expect(secrets).toEqual(new Map([['TOKEN', ENVIRONMENT.TOKEN]]))
  })

  test('what is made of a secret is one, and what is made of none is not', () => {
    const used = open(['TOKEN'], [grant('TOKEN')])
    const pair = Buffer.from(`user:${used.optional(plain('TOKEN'))}`).toString('base64')
    used.derive('authorization', pair)
    expect(createRedact(used.secrets)(`Basic ${pair}`)).toBe('Basic [REDACTED:authorization]')
    const unused = open([], [])
    unused.derive('authorization', 'dXNlcjpwYXNz')
    expect(unused.secrets.size).toBe(0)
  })
})
