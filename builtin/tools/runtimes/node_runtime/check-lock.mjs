// Refuses a package-lock.json in which a package does not come from the registry as a tarball: what a package brings
// along may name a repository, a file, or an address of its own. Ends with 77 and the reason as its last line.
import { readFileSync } from 'node:fs'

const { packages } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
if (packages === undefined) refuse('npm is older than 7: its package-lock.json does not say enough')
const root = packages[''] ?? {}
/** What is asked for by its name alone comes from where npm itself looks. */
const origins = new Set(
  [process.env.npm_config_registry]
    .concat(Object.keys(root.dependencies ?? {}).map((name) => packages[`node_modules/${name}`]?.resolved))
    .map(originOf),
)

for (const [path, entry] of Object.entries(packages)) {
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  for (const kind of ['dependencies', 'optionalDependencies', 'peerDependencies']) {
    for (const [wanted, version] of Object.entries(entry[kind] ?? {})) {
      if (isPlace(version)) refuse(`"${wanted}" comes from ${shown(version)}, not from the registry`)
    }
  }
  if (path === '' || entry.inBundle === true) continue
  const from = originOf(entry.resolved)
  if (entry.link === true || from === null || !origins.has(from))
    refuse(`"${name}" comes from ${shown(entry.resolved ?? path)}, not from the registry`)
}

/** A version, a range or a tag holds neither of these; another name for a package of the registry does. */
function isPlace(version) {
  return /[:/]/.test(version.replace(/^npm:(?:@[^/]*\/)?/, ''))
}

function originOf(address) {
  const url = URL.canParse(address ?? '') ? new URL(address) : null
  return url !== null && /^https?:$/.test(url.protocol) ? url.origin : null
}

/** An address may hold a password. */
function shown(place) {
  return place.replace(/\/\/[^/@]*@/, '//***@')
}

function refuse(reason) {
  console.error(reason)
  process.exit(77)
}
