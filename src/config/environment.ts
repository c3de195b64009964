/** A frozen copy of the variables Kiwi was started with. Only `config/` reads the real ones. */
export type Environment = Readonly<Record<string, string>>

export function readEnvironment(): Environment {
  const entries = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  return Object.freeze(Object.fromEntries(entries))
}

/** Every program that Kiwi starts carries this variable, and with it every process that comes from it, whatever group it moves to. */
export const PROCESS_MARK = 'KIWI_PROCESS'

const PASSED_ON = new Set(['PATH', 'HOME', 'LANG', 'TZ', 'TMPDIR', 'USER', 'SHELL', 'TERM'])

/** What every child may see and every template may name without a grant; nothing else of ours is passed on. */
export function isPassedOn(name: string): boolean {
  return PASSED_ON.has(name) || name.startsWith('LC_')
}

/** A name that stands for something every template may know. */
export function isOpen(name: string): boolean {
  return name === 'PROJECT_PATH' || isPassedOn(name)
}

/** The environment a child starts from: the allow-list, not a copy of ours. */
export function childEnvironment(environment: Environment): Environment {
  return Object.freeze(Object.fromEntries(Object.entries(environment).filter(([name]) => isPassedOn(name))))
}
