const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** What may be opened or called because a file or a server names it: https, or http on this machine. */
export function isWebAddress(text: string): boolean {
  if (!URL.canParse(text) || /[^!-~]|[`$(){}<>"'\\|]/.test(text)) return false
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname))
}
