import { z } from 'zod'
import { KiwiError } from '../shared/errors.ts'
import { isObject } from '../shared/json.ts'
import type { ItemFile } from '../store/store.ts'

/** A file as a caller gives it: its text, or its bytes. */
export const File = z.union([
  z.string(),
  z.strictObject({
    content: z.string(),
    encoding: z.enum(['utf8', 'base64']).default('utf8'),
    executable: z.boolean().optional(),
  }),
])

/** A manifest or a text, as a caller gives it. */
export const TextOrKeys = z.union([z.string(), z.record(z.string(), z.json())], {
  error: 'must be a text, or an object with the keys of a manifest',
})

export function toFile(path: string, file: z.infer<typeof File>): ItemFile {
  const { content, encoding, executable } = isObject(file)
    ? file
    : { content: file, encoding: 'utf8' as const, executable: undefined }
  return {
    path,
    content: decode(path, content, encoding),
    isExecutable: executable ?? content.startsWith('#!'),
  }
}

/** Node drops what is no base64 without a word, and the file would be another. */
function decode(path: string, content: string, encoding: 'utf8' | 'base64'): Buffer {
  const bytes = Buffer.from(content, encoding)
  if (encoding === 'utf8' || bytes.toString('base64') === content.replaceAll(/\s/g, '')) return bytes
  throw new KiwiError('INVALID_PARAMETERS', `Cannot read the file "${path}": its content is not base64`, {
    details: { missing: [], invalid: [{ name: `files.${path}`, reason: 'not base64' }] },
  })
}
