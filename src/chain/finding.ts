/** Something a rule does not let pass. */
export interface Finding {
  /** The type of the rule, and the link whose rule it is. */
  readonly rule: string
  readonly tool: string
  /** The file it is about; null = the manifest. */
  readonly path: string | null
  readonly line: number | null
  readonly reason: string
}

/** A finding in one line. */
export function describeFinding({ path, line, reason }: Finding): string {
  const where = path === null ? '' : `${path}${line === null ? '' : `:${line}`}: `
  return `${where}${tellingLine(reason)}`
}

/** What a compiler writes has many lines; one of them says what is wrong. */
function tellingLine(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const line = lines.find((one) => /error/i.test(one)) ?? lines.at(-1) ?? ''
  return line.trim().slice(0, 300)
}
