import { registry } from './001-registry.ts'
import { journal } from './002-journal.ts'
import { search } from './003-search.ts'

/** In order: the n-th makes version n. What was released is never edited. */
export const MIGRATIONS: readonly string[] = [registry, journal, search]
