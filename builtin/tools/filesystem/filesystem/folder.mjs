// Folders by open descriptors. A path that was judged may lead elsewhere a moment later: so its folder is opened
// without following a last link, the system is asked what was opened, and all work is done below that descriptor.
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  statfsSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants

/** Where the system names open descriptors. Elsewhere what a path leads to is compared before and after. */
const HAS_NAMES = existsSync('/proc/self/fd')

/** What a call is refused with: what is said, a code of Kiwi, and what to do. */
export class Refusal extends Error {
  constructor(reason, hint = null, code = 'TOOL_FAILED') {
    super(reason)
    this.hint = hint
    this.code = code
  }
}

const MOVED = 'what the path leads to changed while it was used'

/** Opens a folder, made with its parents when `isMade`; `work` gets it, and it is closed afterwards. */
export async function inFolder(path, work, { isMade = false } = {}) {
  const folder = isMade ? openMade(path) : open(path, path)
  try {
    return await work(folder)
  } finally {
    folder.close()
  }
}

/** A folder inside an open one. */
export function openInside(folder, name) {
  return open(folder.at(name), join(folder.path, name))
}

function openMade(path) {
  try {
    return open(path, path)
  } catch (error) {
    if (error.code !== 'ENOENT' || dirname(path) === path) throw error
  }
  const parent = openMade(dirname(path))
  try {
    try {
      mkdirSync(parent.at(basename(path)))
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    return openInside(parent, basename(path))
  } finally {
    parent.close()
  }
}

function open(at, path) {
  const fd = openSync(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  try {
    assertNamed(fd, path)
    assertOnDisk(descriptorPath(fd) ?? path)
  } catch (error) {
    closeSync(fd)
    throw error
  }
  return {
    path,
    fd,
    at: (name) => `${descriptorPath(fd) ?? path}/${name}`,
    close: () => closeSync(fd),
  }
}

function descriptorPath(fd) {
  return HAS_NAMES ? `/proc/self/fd/${fd}` : null
}

/** The system's own name of what is open must be the path that was judged. */
function assertNamed(fd, path) {
  if (HAS_NAMES) {
    if (readlinkSync(`/proc/self/fd/${fd}`) !== path) throw new Refusal(MOVED, AGAIN, 'CONFLICT')
    return
  }
  const isPlain = () => realpathSync(path) === path
  const isOpened = ({ dev, ino }) => dev === fstatSync(fd).dev && ino === fstatSync(fd).ino
  if (!(isPlain() && isOpened(statSync(path)) && isPlain())) throw new Refusal(MOVED, AGAIN, 'CONFLICT')
}

const AGAIN = 'Look at the path again, then repeat the call'

/** What a kernel makes up when it is read: processes with their variables and memory, switches of devices. */
const MADE_UP = new Set([
  0x9fa0, // proc
  0x62656572, // sysfs
  0x64626720, // debugfs
  0x74726163, // tracefs
  0x73636673, // securityfs
  0x27e0eb,
  0x63677270, // cgroup
  0xf97cff8c, // selinux
  0xcafe4a11, // bpf
  0x1cd1, // devpts
])

function assertOnDisk(path) {
  if (MADE_UP.has(statfsSync(path).type)) throw new Refusal('it holds no files but what the system makes up')
}

/** What a name of a folder is, itself and not what it leads to; null for nothing. */
export function entryOf(folder, name) {
  return lstatSync(folder.at(name), { throwIfNoEntry: false }) ?? null
}

/** Opens a regular file to read it; nothing else, and never by a link. `work` gets its descriptor and its state. */
export async function inFile(folder, name, work) {
  const before = entryOf(folder, name)
  if (before === null) throw new Refusal(NOT_THERE)
  assertFile(before)
  // A pipe that took its place would wait for a writer.
  const fd = openSync(folder.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    const stat = fstatSync(fd)
    assertFile(stat)
    if (stat.dev !== before.dev || stat.ino !== before.ino) throw new Refusal(MOVED, AGAIN, 'CONFLICT')
    assertNamed(fd, join(folder.path, name))
    if (stat.dev !== fstatSync(folder.fd).dev) assertOnDisk(descriptorPath(fd) ?? folder.at(name))
    return await work(fd, stat)
  } finally {
    closeSync(fd)
  }
}

export const NOT_THERE = 'there is no such file or folder'

export function assertFile(stat) {
  if (stat.isFile()) return
  if (stat.isDirectory()) throw new Refusal('it is a folder', 'Use filesystem.list for folders')
  throw new Refusal(
    stat.isSymbolicLink()
      ? 'it is a link, and where it leads was not judged'
      : 'it is no regular file but a device, pipe or socket',
  )
}

export function typeOf(stat) {
  if (stat.isFile()) return 'file'
  if (stat.isDirectory()) return 'folder'
  return stat.isSymbolicLink() ? 'link' : 'other'
}

const REASONS = {
  ENOENT: NOT_THERE,
  ENOTDIR: 'a part of the path is no folder',
  ELOOP: 'a part of the path is a link',
  EACCES: 'the system does not allow it',
  EPERM: 'the system does not allow it',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ENOTEMPTY: 'the folder is not empty',
  EEXIST: 'something is there already',
  EXDEV: 'it would go to another disk',
  ENXIO: 'it is no regular file but a device, pipe or socket',
  ENAMETOOLONG: 'a name in it is too long',
  EMFILE: 'too many files are open',
}

/** Why the system did not do it, in words. */
export function reasonOf(error) {
  return REASONS[error.code] ?? error.message
}
