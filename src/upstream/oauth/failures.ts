import { KiwiError, messageOf } from '../../shared/errors.ts'
import { serverName } from '../../shared/groups.ts'

/** Something that must be equal is not, or something that must be there is missing: nothing goes on from here. */
export function mismatch(id: string, reason: string, cause?: unknown): KiwiError {
  return new KiwiError('OAUTH_MISMATCH', `Cannot log in to "${id}": ${reason}`, { cause })
}

export function loginRequired(id: string, reason: string): KiwiError {
  // The command stands in the message too: not everybody who passes it on passes the hint on.
  const command = `kiwi login ${serverName(id)}`
  return new KiwiError('LOGIN_REQUIRED', `Cannot use "${id}": ${reason} (${command})`, {
    hint: `Ask the person to run ${command}`,
  })
}

/** Neither the server nor its address says anything of logins: it wants a key, which a person has. */
export function noLogins(id: string): KiwiError {
  return new KiwiError('LOGIN_REQUIRED', `Cannot log in to "${id}": it offers no login`, {
    hint: `Give it a key instead: kiwi add ${serverName(id)} URL --header "Authorization: Bearer KEY"`,
  })
}

/** Only a person can make Kiwi known to such an issuer. */
export function noRegistration(id: string, issuer: string): KiwiError {
  return new KiwiError(
    'LOGIN_REQUIRED',
    `Cannot log in to "${id}": "${issuer}" registers no clients by itself`,
    {
      hint: `Register Kiwi there, write auth: {type: oauth, client_id: ...} into the entry of the server, then run kiwi login ${serverName(id)}`,
    },
  )
}

/** What the SDK throws, in our words. What the issuer wrote itself is not repeated: it may be anything. */
export function sdkFailure(id: string, error: unknown): KiwiError {
  const prefix = `Cannot log in to "${id}": `
  if (error instanceof KiwiError) {
    return error.message.startsWith(prefix) ? error : error.withMessage(prefix + small(error.message))
  }
  if (error instanceof Error && /Mismatch|InsecureTokenEndpoint/.test(error.name)) {
    return mismatch(id, 'who answered is not who was asked', error)
  }
  const code = oauthCodeOf(error)
  const reason = code === null ? messageOf(error).slice(0, SAID) : `the issuer says ${code}`
  return new KiwiError('LOGIN_REQUIRED', `Cannot log in to "${id}": ${reason}`, {
    hint: `Check auth in the config of the server, then run kiwi login ${serverName(id)}`,
    cause: error,
  })
}

const SAID = 300

/** The code of an answer such as `invalid_grant`; null for what is no such answer. */
export function oauthCodeOf(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return null
  return /^[a-z_]{1,64}$/.test(error.code) ? error.code : null
}

function small(message: string): string {
  return message.replace(/^Cannot /, 'cannot ')
}
