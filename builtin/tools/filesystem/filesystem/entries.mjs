// Names in folders: list, delete, move.
import { opendirSync, renameSync, rmdirSync, unlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { placeNew } from './files.mjs'
import { NOT_THERE, Refusal, entryOf, inFolder, openInside, typeOf } from './folder.mjs'
import { assertSeen, changed } from './seen.mjs'

const MOST_NAMES = 20_000
const MOST_LEVELS = 64
const LOOK_MS = 5000

export async function list({ paths: { path }, args: { depth = 1, limit = 500 }, signal }) {
  const entries = []
  const isWhole = await inFolder(path, (folder) =>
    walk(
      folder,
      { depth: Math.min(depth, MOST_LEVELS), signal, isEntered: () => true },
      (inside, name, entry, below) => {
        if (entries.length >= limit) return false
        const type = typeOf(entry)
        entries.push({ path: join(below, name), type, ...(type === 'file' ? { size: entry.size } : {}) })
        return true
      },
    ),
  )
  return { path, entries, truncated: !isWhole }
}

/**
 * Everything below a folder, by name, no link followed: `visit` gets folder, name, state and the way there, and ends
 * it with false. Tells whether nothing was left out.
 */
export async function walk(
  folder,
  { depth, signal, isEntered, until = Date.now() + LOOK_MS },
  visit,
  below = '',
) {
  const names = namesIn(folder)
  let isWhole = names.length < MOST_NAMES
  for (const name of names.toSorted()) {
    const entry = entryOf(folder, name)
    if (entry === null) continue
    if (Date.now() > until || (await visit(folder, name, entry, below)) === false) return false
    if (!entry.isDirectory() || depth <= 1 || !isEntered(name)) continue
    await setImmediate()
    if (signal.aborted) throw new Refusal('it was cancelled')
    const inner = openQuietly(folder, name)
    if (inner === null) {
      isWhole = false
      continue
    }
    try {
      const rest = { depth: depth - 1, signal, isEntered, until }
      isWhole = (await walk(inner, rest, visit, join(below, name))) && isWhole
    } finally {
      inner.close()
    }
  }
  return isWhole
}

/** What may not be looked into is left out, as what is gone. */
function openQuietly(folder, name) {
  try {
    return openInside(folder, name)
  } catch {
    return null
  }
}

function namesIn(folder) {
  const names = []
  const opened = opendirSync(folder.at('.'))
  try {
    for (let next = opened.readSync(); next !== null && names.length < MOST_NAMES; next = opened.readSync()) {
      names.push(next.name)
    }
  } finally {
    opened.closeSync()
  }
  return names
}

export async function remove({ paths: { path }, args: { recursive = false }, seen }) {
  return inFolder(dirname(path), async (folder) => {
    const name = basename(path)
    const entry = entryOf(folder, name)
    if (entry === null || name === '') throw new Refusal(NOT_THERE)
    await assertSeen(folder, name, seen)
    if (!entry.isDirectory()) {
      unlinkSync(folder.at(name))
      return { path, deleted: 1 }
    }
    if (recursive) {
      assertText(folder, name, MOST_LEVELS)
      await assertAllSeen(folder, name, seen)
      return { path, deleted: removeFolder(folder, name, MOST_LEVELS) }
    }
    try {
      rmdirSync(folder.at(name))
    } catch (error) {
      if (error.code !== 'ENOTEMPTY') throw error
      throw new Refusal('the folder is not empty', 'Pass recursive: true to delete what is in it too')
    }
    return { path, deleted: 1 }
  })
}

/** Before the first goes: no file below is newer than what was looked at, and none has come since. */
async function assertAllSeen(folder, name, seen) {
  const top = `${join(folder.path, name)}/`
  if (!Object.keys(seen).some((path) => path.startsWith(top))) return
  const inner = openInside(folder, name)
  const depth = { depth: MOST_LEVELS, signal: new AbortController().signal, isEntered: () => true }
  try {
    const isWhole = await walk(inner, depth, async (inside, each, entry) => {
      if (!entry.isFile()) return true
      if (!Object.hasOwn(seen, join(inside.path, each))) throw changed()
      await assertSeen(inside, each, seen)
      return true
    })
    if (!isWhole) throw new Refusal('there is more in it than can be looked at', 'Delete it in parts')
  } finally {
    inner.close()
  }
}

/** Before the first goes too: a name that is no text cannot be told to the system, and would stop it halfway. */
function assertText(folder, name, levels) {
  if (levels === 0) throw tooDeep()
  const inner = openInside(folder, name)
  try {
    for (const each of namesIn(inner)) {
      if (each.includes('\uFFFD'))
        throw new Refusal('there is a name in it that is no text', 'Delete it with shell.run and rm -r')
      if (entryOf(inner, each)?.isDirectory()) assertText(inner, each, levels - 1)
    }
  } finally {
    inner.close()
  }
}

function tooDeep() {
  return new Refusal(`it is nested deeper than ${MOST_LEVELS} folders`)
}

function removeFolder(folder, name, levels) {
  if (levels === 0) throw tooDeep()
  let deleted = 0
  const inner = openInside(folder, name)
  try {
    for (const each of namesIn(inner)) {
      if (entryOf(inner, each)?.isDirectory()) {
        deleted += removeFolder(inner, each, levels - 1)
        continue
      }
      unlinkSync(inner.at(each))
      deleted += 1
    }
  } finally {
    inner.close()
  }
  rmdirSync(folder.at(name))
  return deleted + 1
}

export async function move({ paths: { path, to }, args: { overwrite = false }, seen }) {
  if (to === path || to.startsWith(`${path}/`)) throw new Refusal('a folder cannot be moved into itself')
  return inFolder(dirname(path), async (from) => {
    const entry = entryOf(from, basename(path))
    if (entry === null) throw new Refusal(NOT_THERE)
    await assertSeen(from, basename(path), seen)
    const place = async (folder) => {
      const name = basename(to)
      const there = entryOf(folder, name)
      if (there !== null) assertReplaced(entry, there, overwrite, to)
      await assertSeen(folder, name, seen)
      const [source, target] = [from.at(basename(path)), folder.at(name)]
      if (there === null && entry.isFile()) placeNew(source, target)
      else renameSync(source, target)
      return { path, to, had_original: there !== null }
    }
    return inFolder(dirname(to), place, { isMade: true })
  })
}

function assertReplaced(entry, there, overwrite, to) {
  if (!overwrite) {
    throw new Refusal(`something is at "${to}" already`, 'Pass overwrite: true to replace it', 'CONFLICT')
  }
  if (there.isDirectory() || entry.isDirectory())
    throw new Refusal(`a folder is not replaced: "${to}"`, null, 'CONFLICT')
}
