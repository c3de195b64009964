// Text in files.
import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { walk } from './entries.mjs'
import { Refusal, entryOf, inFile, inFolder } from './folder.mjs'

const MOST_FILE_BYTES = 4 * 1024 * 1024
const MOST_BYTES = 512 * 1024 * 1024
const MOST_LEVELS = 64
const SEARCH_MS = 10_000
const LINE_CHARACTERS = 300
/** Nobody means these unless the search begins inside of them. */
const LEFT_OUT = new Set(['.git', 'node_modules'])

export async function search({ paths: { path }, args, signal }) {
  const { limit = 100, glob, ignore_case = false } = args
  const find = finder(args.pattern, ignore_case)
  const matches = []
  let [files, bytes] = [0, 0]
  const look = async (folder, name, below) => {
    const content = await contentOf(folder, name)
    if (content === null) return true
    files += 1
    bytes += content.length
    for (const found of find(content, limit - matches.length))
      matches.push({ path: join(below, name), ...found })
    return matches.length < limit && bytes < MOST_BYTES
  }
  const isWhole = await inFolder(dirname(path), async (parent) => {
    if (dirname(path) !== path && entryOf(parent, basename(path))?.isDirectory() === false) {
      return look(parent, basename(path), '')
    }
    return inFolder(path, (folder) =>
      walk(
        folder,
        {
          depth: MOST_LEVELS,
          signal,
          until: Date.now() + SEARCH_MS,
          isEntered: (name) => !LEFT_OUT.has(name),
        },
        async (inside, name, entry, below) => {
          const isMeant = entry.isFile() && (glob === undefined || fits(glob, join(below, name)))
          return isMeant ? look(inside, name, below) : true
        },
      ),
    )
  })
  return { path, matches, files_searched: files, truncated: !isWhole }
}

/** The bytes of a text file; null for what is none, too large, gone or closed to us. */
async function contentOf(folder, name) {
  try {
    return await inFile(folder, name, (fd, { size }) => {
      if (size > MOST_FILE_BYTES) return null
      const content = readFileSync(fd)
      return content.subarray(0, 8192).includes(0) ? null : content
    })
  } catch (error) {
    if (error instanceof Refusal || typeof error.code === 'string') return null
    throw error
  }
}

/** One match for each line, in time that grows with the text alone. */
function finder(pattern, isCaseIgnored) {
  const wanted = isCaseIgnored ? pattern.toLowerCase() : pattern
  const bytes = Buffer.from(pattern)
  return (content, most) => {
    if (!isCaseIgnored && !content.includes(bytes)) return []
    const found = []
    const lines = content.toString('utf8').split('\n')
    for (let at = 0; at < lines.length && found.length < most; at++) {
      const line = lines[at].endsWith('\r') ? lines[at].slice(0, -1) : lines[at]
      if (!(isCaseIgnored ? line.toLowerCase() : line).includes(wanted)) continue
      found.push({ line: at + 1, text: line.slice(0, LINE_CHARACTERS) })
    }
    return found
  }
}

/** `*` and `?` stay within a name, `**` crosses folders; without a slash the last name alone counts. */
export function fits(glob, path) {
  if (!glob.includes('/')) return fitsName(glob, basename(path))
  return fitsParts(glob.split('/'), path.split('/'))
}

/** Which beginnings of the path each beginning of the glob fits: no way is tried twice. */
function fitsParts(parts, names) {
  let reached = names.map(() => false)
  reached.unshift(true)
  for (const part of parts) {
    const next = reached.map(() => false)
    for (let at = 0; at <= names.length; at++) {
      if (part === '**') next[at] = reached[at] || (at > 0 && next[at - 1])
      else next[at] = at > 0 && reached[at - 1] && fitsName(part, names[at - 1])
    }
    reached = next
  }
  return reached[names.length]
}

/** Goes back to the last star at most, so the work is bounded by the product of both lengths. */
function fitsName(glob, name) {
  let [at, from, star, mark] = [0, 0, -1, 0]
  while (at < name.length) {
    if (glob[from] === '*') {
      star = from++
      mark = at
    } else if (from < glob.length && (glob[from] === '?' || glob[from] === name[at])) {
      from += 1
      at += 1
    } else if (star >= 0) {
      from = star + 1
      at = ++mark
    } else {
      return false
    }
  }
  while (glob[from] === '*') from += 1
  return from === glob.length
}
