import type { ErrorCode } from '../shared/errors.ts'

/** One thing that was looked at; a fault comes with what to do about it, and with a code of the table of errors. */
export type Finding = { readonly name: string; readonly detail: string } & (
  | { readonly state: 'ok'; readonly fix?: never }
  | { readonly state: 'warn'; readonly fix: string }
  | { readonly state: 'fail'; readonly fix: string; readonly code: ErrorCode }
)
