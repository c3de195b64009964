import { basename } from 'node:path'
import type { ItemFile } from '../store/store.ts'
import type { Item } from './item.ts'
import { BODY } from './item.ts'

/** The text that carries the signature lines of an item: its manifest or document, or the script it is. */
export function signedTextOf({ text, raw }: Item, files: readonly ItemFile[]): string | null {
  if (text !== null) return text
  const carrier = files.find(({ path }) => path === raw['_file'])
  return carrier === undefined ? null : decode(carrier.content)
}

/** The name of the file that carries the lines: it decides how a comment is written. Null in the registry, and for an entry among others. */
export function signedFileName({ path, form, raw: { _file } }: Item): string | null {
  if (typeof _file === 'string') return _file
  if (form === 'row' || form === 'entry') return null
  if (path !== null) return basename(path)
  return form === 'document' ? BODY : 'tool.yaml'
}

/** The files with another text in the one that carries the lines. */
export function withSignedText({ raw }: Item, files: readonly ItemFile[], text: string): readonly ItemFile[] {
  return files.map((file) => (file.path === raw['_file'] ? { ...file, content: Buffer.from(text) } : file))
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Null: a line put into such bytes would change them. */
function decode(bytes: Uint8Array): string | null {
  try {
    return UTF8.decode(bytes)
  } catch {
    return null
  }
}
