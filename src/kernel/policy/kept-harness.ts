import type { Policy, PolicyOf } from './policy.ts'

/** A file of a project that has bound it, and is no longer there, is a fault: what is gone never opens anything. */
export function withKeptHarness(policyOf: PolicyOf): PolicyOf {
  const known = new Map<string, Set<string>>()
  const last = new Map<string, { readonly given: Policy; readonly found: Policy }>()
  const checked = (place: string, given: Policy): Policy => {
    const before = last.get(place)
    if (before?.given === given) return before.found
    const found = check(place, given)
    last.set(place, { given, found })
    return found
  }
  const check = (place: string, policy: Policy): Policy => {
    const files = policy.files.filter((file) => file.place === 'project').map(({ path }) => path)
    const before = known.get(place)
    if (before === undefined && files.length === 0) return policy
    const gone = [...(before ?? [])].filter((file) => !files.includes(file))
    // One that could not be read has let nothing run: who takes it away opens nothing.
    const binding = files.filter((path) => policy.faults.every(({ file }) => file !== path))
    known.set(place, new Set([...(before ?? []), ...binding]))
    if (gone.length === 0) return policy
    const reason =
      'it is gone, and has bound this project: a person puts it back, or starts Kiwi again without it'
    return {
      ...policy,
      faults: [...policy.faults, ...gone.map((file) => ({ file, line: 1, column: 1, reason }))],
    }
  }
  return (project, session) => {
    const policy = policyOf(project, session)
    if (project === null) return policy
    // What binds a session in other projects is of its own.
    const place = `${project}\n${session ?? ''}`
    return policy instanceof Promise ? policy.then((read) => checked(place, read)) : checked(place, policy)
  }
}
