import { registry } from './001-registry.ts'
import { journal } from './002-journal.ts'
import { search } from './003-search.ts'
import { trust } from './004-trust.ts'
import { removed } from './005-removed.ts'
import { runs } from './006-runs.ts'
import { grants } from './011-grants.ts'

/** In order: the n-th makes version n. What was released is never edited. */
export const MIGRATIONS: readonly string[] = [registry, journal, search, trust, removed, runs, grants]
