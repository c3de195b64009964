import { KiwiError } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import type { ItemFile } from '../store/store.ts'

/** Checks every file of an item before the first byte is written: one bad path refuses them all. */
export function checkBundle(id: string, files: readonly ItemFile[]): void {
  const refuse = (reason: string): never => {
    throw new KiwiError('INVALID_MANIFEST', `Cannot use the files of "${id}": ${reason}`, {
      hint: 'Give relative paths such as main.py or lib/part.py',
      details: { invalid: [{ name: 'files', reason }] },
    })
  }
  if (files.length > LIMITS.bundleFiles) refuse(`more than ${LIMITS.bundleFiles} files`)
  const bytes = files.reduce((sum, { content }) => sum + content.length, 0)
  if (bytes > LIMITS.bundleBytes) refuse(`more than ${LIMITS.bundleBytes} bytes in all`)
  const seen = new Set<string>()
  for (const { path } of files) {
    const shown = JSON.stringify(path.slice(0, 160))
    if (!isInside(path)) refuse(`${shown} is not a path inside the item`)
    // Hooks and settings in there are programs that Git starts.
    if (/(?:^|\/)\.git(?:\/|$)/i.test(path)) refuse(`${shown} belongs to Git`)
    if (path.toLowerCase() === 'tool.yaml') refuse(`${shown} is the name of the manifest itself`)
    const folded = path.normalize('NFC').toLowerCase()
    if (seen.has(folded))
      refuse(`${shown} is there twice for a disk that does not tell upper from lower case`)
    seen.add(folded)
  }
  const folders = new Set<string>()
  for (const path of seen) {
    for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1)) {
      if (seen.has(path.slice(0, slash)))
        refuse(`"${path.slice(0, slash)}" would be both a file and a folder`)
      folders.add(path.slice(0, slash))
    }
  }
  if (folders.size > LIMITS.bundleFiles) refuse(`more than ${LIMITS.bundleFiles} folders`)
}

/** Relative, `/` between plain names, nothing that a system could read as something else. */
function isInside(path: string): boolean {
  if (Buffer.byteLength(path) > 1024) return false
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\\:\u0000-\u001F\u007F]/.test(path)) return false
  return path
    .split('/')
    .every(
      (part) =>
        part !== '' && part !== '.' && part !== '..' && Buffer.byteLength(part) <= 255 && !/[. ]$/.test(part),
    )
}
