import type { Stage } from './gate.ts'

/** Works out what a request means and would do. Every fault of the request itself ends here. */
export const arrive: Stage = async (call, next, { runs }) => {
  const { runId, caller } = call.ticket
  if (runId !== undefined) call.run = await runs.find(runId, caller.principal)
  const { work, projectPath, isDryRun } = await call.workOut()
  call.isDryRun = isDryRun
  call.work = work
  call.projectPath = projectPath
  return next()
}
