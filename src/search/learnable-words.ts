import { SECRET_KEY } from '../shared/redact.ts'
import { wordsOf } from './parse-query.ts'
import { stemOf } from './stem.ts'

/** Beyond it a query is a text, and its first words say enough. */
const MOST_WORDS = 12
const LONGEST_TOKEN = 32
/** What a value, an address, a path or a modifier holds, and a word does not. */
const NO_WORD = /[\d=@:/\\+<>[\]{}$%#~^|*"'`]/

/**
 * The stems of a query that may be kept and compared. Queries may hold secrets and private names: what is not plainly a
 * word is left out, and a query that speaks of a secret has none.
 */
export function learnableWords(query: string): readonly string[] {
  if (SECRET_KEY.test(query) || SPEAKS_OF_A_SECRET.test(query)) return []
  const tokens = query.split(/\s+/).filter((token) => token.length <= LONGEST_TOKEN && !NO_WORD.test(token))
  const words = wordsOf(tokens.join(' ')).filter((word) => WORD.test(word))
  return [...new Set(words.map(stemOf))].slice(0, MOST_WORDS).toSorted()
}

/** What people call a secret: what stands beside it may be the secret itself. */
const SPEAKS_OF_A_SECRET = new RegExp(
  String.raw`(?<!\p{L})(?:${[
    'pass(?:word|phrase|code|key)?s?',
    'pwd?s?',
    'pins?',
    'keys?',
    'cred(?:ential)?s?',
    'log[ -]?ins?',
    'sign[ -]?ins?',
    'otp|totp|mfa|cvv|cvc|ssn|jwt|auth|bearer',
    '(?:seed|recovery|access|secret) (?:phrase|word|code)s?',
    'kennwort|passwort|geheim\\p{L}*|contraseña|mot de passe',
  ].join('|')})(?!\p{L})|passphrase|passcode|apikey`,
  'iu',
)

const WORD = /^\p{L}{2,20}$/u
