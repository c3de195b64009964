import { copyWork } from './copy-work.ts'
import { createWork } from './create-work.ts'
import type { Ticket, Understood, Work } from './call.ts'
import { deleteWork } from './delete-work.ts'
import type { Stage } from './gate.ts'
import type { Means } from './means.ts'
import { runWork } from './run-work.ts'

/** Works out what a request means and would do. Every fault of the request itself ends here. */
export const arrive: Stage = async (call, next, means) => {
  const understood = await call.understand()
  call.isDryRun = understood.isDryRun
  call.work = await workOut(understood, call.ticket, means)
  return next()
}

function workOut({ wish, lookup }: Understood, ticket: Ticket, means: Means): Promise<Work> {
  switch (wish.kind) {
    case 'run':
      return runWork(wish, lookup, ticket, means)
    case 'create':
      return createWork(wish, lookup, means)
    case 'delete':
      return deleteWork(wish, lookup, means)
    case 'copy':
      return copyWork(wish, lookup, means)
  }
}
