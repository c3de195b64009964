import { KiwiError, messageOf } from '../../shared/errors.ts'
import { LIMITS } from '../../shared/limits.ts'
import type { Element } from '../../spaces/directive/element.ts'

interface Open {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: Element[]
  readonly line: number
  text: string
}

/** Reads a block of XML strictly: no document type, no entity of its own, no attribute twice. */
export async function readPermissions(text: string, where: string): Promise<Element | undefined> {
  const { SaxesParser } = await import('saxes')
  const parser = new SaxesParser<{ position: true; xmlns: false }>({ position: true, xmlns: false })
  const stack: Open[] = []
  const roots: Element[] = []
  const refuse = (reason: string): never => {
    const place = `line ${parser.line}, column ${parser.column + 1}`
    throw new KiwiError('PARSE_ERROR', `Cannot read the permissions of "${where}": ${reason} (${place})`)
  }
  parser.on('error', (error) => refuse(messageOf(error).replace(/^\d+:\d+: /, '')))
  parser.on('doctype', () => refuse('it has a document type'))
  parser.on('opentag', ({ name, attributes }) => {
    if (stack.length >= LIMITS.nesting) refuse(`it is nested deeper than ${LIMITS.nesting} levels`)
    stack.push({ name, attributes: { ...attributes }, children: [], line: parser.line, text: '' })
  })
  parser.on('text', (more) => {
    for (const last of stack.slice(-1)) last.text += more
  })
  parser.on('closetag', () => {
    for (const closed of stack.splice(-1)) {
      const around = stack.at(-1)?.children ?? roots
      around.push({ ...closed, text: closed.text.trim() })
    }
  })
  parser.write(text).close()
  return roots.at(0)
}
