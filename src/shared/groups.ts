/** Groups of tools that are shipped and that policies speak of by name: nobody else can be called so. */
export const GROUPS = ['filesystem', 'shell', 'git'] as const

/** The group an id belongs to: its own name, or what stands before its first dot. */
export function groupOf(id: string): (typeof GROUPS)[number] | undefined {
  return GROUPS.find((group) => id === group || id.startsWith(`${group}.`))
}
