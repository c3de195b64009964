/**
 * One value as one line: whatever it holds, no reader takes a part of it for a line of its own, and no terminal takes it
 * for a command.
 */
export function jsonLine(value: unknown): string {
  // oxlint-disable-next-line no-control-regex -- what JSON leaves as it is and lines or terminals do not
  return JSON.stringify(value).replaceAll(/[\u007F-\u009F\u2028-\u202E\u2066-\u2069]/g, escaped)
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
