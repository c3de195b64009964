import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { KiwiError } from '../../shared/errors.ts'
import { isSkillName, skillAddress, skillIn, skillName, skillRoot } from './skill-address.ts'

const id = fc.stringMatching(/^(?:[A-Za-z0-9_-]{1,8}\/)?[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}$/)
const part = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .filter((text) => text !== '.' && text !== '..' && !/[/\\\0]/.test(text))
const path = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'))
const itemType = fc.constantFrom('directive' as const, 'knowledge' as const)

describe('X11: the address of a skill', () => {
  test('X11: leads back to the item and the file, whatever they are called', () => {
    fc.assert(
      fc.property(itemType, id, path, (type, own, file) => {
        const uri = skillAddress(skillRoot(type, own), file)
        expect(skillIn(uri)).toEqual({ itemType: type, id: own, path: file })
      }),
    )
  })

  test('X11: ends its folder in a name that the rules of skills allow', () => {
    fc.assert(
      fc.property(itemType, id, (type, own) => {
        expect(isSkillName(skillName(own))).toBe(true)
        expect(skillRoot(type, own).split('/').at(-1)).toBe(skillName(own))
      }),
    )
  })

  test('X11: is a place inside the skill or a clear error, whatever is written', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        try {
          const place = skillIn(`skill://directive/${text}`)
          expect(place?.path.split('/')).not.toContain('..')
        } catch (error) {
          expect(error).toBeInstanceOf(KiwiError)
        }
      }),
    )
  })

  test.each([
    ['greet', 'skill://directive/greet'],
    ['deploy_app', 'skill://directive/deploy_app/deploy-app'],
    ['home/tidy', 'skill://directive/home%2Ftidy/tidy'],
    ['___', 'skill://directive/___/skill'],
  ])('X11: of %s is %s', (own, root) => {
    expect(skillRoot('directive', own)).toBe(root)
  })

  test('X11: with another scheme it is none', () => {
    expect(skillIn('kiwi://knowledge/a')).toBeNull()
  })
})
