import { describe, expect, test } from 'vitest'
import { createRedact } from '../shared/redact.ts'
import type { VariableSegment } from '../shared/template.ts'
import type { Item } from '../spaces/item.ts'
import { sampleItem } from '../../test/fixtures/sample-item.ts'
import type { Place } from './secret-places.ts'
import type { VariableGrant, Variables } from './variables.ts'
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
const item: Item = {
  ...sampleItem({ tool_id: 'weather', tool_type: 'api', executor: 'http_client' }),
  space: 'user',
}

const means = (grants: readonly VariableGrant[]) => ({
  environment: ENVIRONMENT,
  values: new Map(Object.entries(ENVIRONMENT)),
  grants,
  projectPath: '/project',
})
const open = (
  declared: readonly string[],
  grants: readonly VariableGrant[],
  digest = DIGEST,
  host: string | null = null,
): Variables => openVariables({ item, secrets: new Set(declared), digest, host }, means(grants))
const grant = (secret: string, sink: string | null = null): VariableGrant => ({
  tool: 'weather',
  digest: DIGEST,
  secret,
  sink,
})
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

  test.each([
    [null, 'A person has to run: kiwi grant weather TOKEN'],
    ['api.example.com', 'A person has to run: kiwi grant weather TOKEN --to host:api.example.com'],
  ])('the command to grant it is ready to be typed, for host %j', (host, hint) => {
    expect(() => open(['TOKEN'], [], DIGEST, host).required(plain('TOKEN'))).toThrow(
      expect.objectContaining({ hint }),
    )
  })

  test('one of a project names the project, or it would be looked for elsewhere', () => {
    const brought = openVariables(
      { item: { ...item, space: 'project' }, secrets: new Set(['TOKEN']), digest: DIGEST },
      means([]),
    )
    expect(() => brought.required(plain('TOKEN'))).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('TOKEN --project /project') }),
    )
  })

  test('a tool that has changed is told so', () => {
    expect(() => open(['TOKEN'], [grant('TOKEN')], 'b'.repeat(64)).required(plain('TOKEN'))).toThrow(
      expect.objectContaining({
        code: 'SECRET_NOT_GRANTED',
        message: 'Cannot run "weather": it has changed since TOKEN was granted to it',
      }),
    )
  })

  test.each<[string, readonly string[], VariableGrant, string]>([
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
  const variables = open(
    ['TOKEN', 'EMPTY', 'UNSET'],
    ['TOKEN', 'EMPTY', 'UNSET'].map((name) => grant(name)),
  )

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
      { ...means([]), projectPath: null },
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
    hint: "A person has to run: kiwi grant weather '*'",
    details: { required: { tool: 'weather', hash: DIGEST, names: ['*'] }, layer: 'grants', rule: null },
  })

  test('without a grant it is refused, with the grant ready to be given', () => {
    expect(() => open([], []).all()).toThrow(refusal)
    expect(() => open(['TOKEN', '*'], [grant('TOKEN'), grant('OTHER')]).all()).toThrow(refusal)
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
      { ...means([grant('*')]), environment: { HOME: '/home/me', OLDPWD: '/home/me' } },
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

describe('X7: a grant for a place reaches no other', () => {
  const HOST = 'api.example.com'
  const put = (sinks: readonly (string | null)[], place: Place, host: string | null): (() => void) => {
    const variables = open(
      ['TOKEN'],
      sinks.map((sink) => grant('TOKEN', sink)),
    )
    variables.optional(plain('TOKEN'), place)
    return () => variables.assertPlaces(host)
  }

  test.each<[readonly (string | null)[], Place, string | null]>([
    [[null], 'arguments', null],
    [['env:KEY'], 'env:KEY', null],
    [['header:x-key'], 'header:x-key', HOST],
    [['header:x-key'], 'header:x-key', 'other.example.com'],
    [[`host:${HOST}`], 'header:x-key', HOST],
    [[`host:${HOST}`], 'body', HOST],
    [['env:A', 'env:B'], 'env:B', null],
  ])('%j: it may stand in %s for %j', (sinks, place, host) => {
    expect(put(sinks, place, host)).not.toThrow()
  })

  test.each<[readonly (string | null)[], Place, string | null, string]>([
    [['env:KEY'], 'env:OTHER', null, 'granted for env:KEY, and would go to env:OTHER'],
    [['env:KEY'], 'arguments', null, 'granted for env:KEY, and would go to the arguments'],
    [['env:KEY'], 'call', null, 'would go to the call'],
    [['header:x-key'], 'body', HOST, `would go to the body for host:${HOST}`],
    [
      [`host:${HOST}`],
      'header:x-key',
      'evil.example.com',
      'would go to header:x-key for host:evil.example.com',
    ],
    [[`host:${HOST}`], 'header:x-key', `${HOST}:8443`, `for host:${HOST}:8443`],
    [[`host:${HOST}`], 'env:KEY', null, 'would go to env:KEY'],
    [['env:A', 'env:B'], 'env:C', null, 'granted for env:A and env:B, and would go to env:C'],
  ])('%j: it may not stand in %s for %j', (sinks, place, host, reason) => {
    expect(put(sinks, place, host)).toThrow(
      expect.objectContaining({ code: 'SECRET_NOT_GRANTED', message: expect.stringContaining(reason) }),
    )
  })
})

describe('RED-01: what was used is known, so that it can be taken out again', () => {
  test('a granted value that was put somewhere', () => {
    const { optional, secrets } = open(['TOKEN', 'OTHER'], [grant('TOKEN'), grant('OTHER')])
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
