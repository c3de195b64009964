import { registry } from './001-registry.ts'
import { journal } from './002-journal.ts'
import { search } from './003-search.ts'
import { trust } from './004-trust.ts'
import { removed } from './005-removed.ts'
import { runs } from './006-runs.ts'
import { approvals } from './007-approvals.ts'
import { limits } from './008-limits.ts'
import { journalTimes } from './009-journal.ts'
import { undo } from './010-undo.ts'
import { grants } from './011-grants.ts'
import { catalog } from './012-catalog.ts'
import { tasks } from './013-tasks.ts'
import { launches } from './014-launches.ts'
import { meaning } from './015-meaning.ts'
import { vectors } from './016-vectors.ts'
import { uses } from './017-uses.ts'
import { heldRuns } from './018-held-runs.ts'
import { meaningAnew } from './019-meaning.ts'
import { searches } from './020-searches.ts'
import { meaningLearnt } from './021-meaning.ts'
import { vectorsAnew } from './022-vectors.ts'

/** In order: the n-th makes version n. What was released is never edited. */
export const MIGRATIONS: readonly string[] = [
  registry,
  journal,
  search,
  trust,
  removed,
  runs,
  approvals,
  limits,
  journalTimes,
  undo,
  grants,
  catalog,
  tasks,
  launches,
  meaning,
  vectors,
  uses,
  heldRuns,
  meaningAnew,
  searches,
  meaningLearnt,
  vectorsAnew,
]
