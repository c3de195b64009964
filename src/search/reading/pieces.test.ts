import { expect, test } from 'vitest'
import { openCut } from './pieces.ts'

const LIST = ['[UNK]', '[CLS]', '[SEP]', 'send', '##er', 'mail', 'cafe', '!', 's', '##s']
const cut = openCut((piece) => (LIST.includes(piece) ? LIST.indexOf(piece) : undefined))
const pieces = (text: string, most = 20): string[] => cut(text, most).map((place) => LIST[place] ?? '')

test('S3: words are cut into the longest pieces that are known, signs stand alone', () => {
  expect(pieces('Sender  mail!')).toEqual(['[CLS]', 'send', '##er', 'mail', '!', '[SEP]'])
  expect(pieces('CAFÉ')).toEqual(['[CLS]', 'cafe', '[SEP]'])
})

test('S3: a word with a part that is not known is unknown as a whole, however long it is', () => {
  expect(pieces('sendx 東京')).toEqual(['[CLS]', '[UNK]', '[UNK]', '[SEP]'])
  expect(pieces('s'.repeat(10_000))).toEqual(['[CLS]', '[UNK]', '[SEP]'])
})

test('S3: of a text that is too long the beginning is taken, and an empty one is framed too', () => {
  expect(pieces('mail '.repeat(1000), 5)).toEqual(['[CLS]', 'mail', 'mail', 'mail', '[SEP]'])
  expect(pieces('')).toEqual(['[CLS]', '[SEP]'])
})
