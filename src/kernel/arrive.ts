import { redactBoth } from '../shared/redact.ts'
import type { Stage } from './gate.ts'

/** Works out what a request means and would do. Every fault of the request itself ends here. */
export const arrive: Stage = async (call, next, { runs }) => {
  const { runId, caller } = call.ticket
  if (runId !== undefined) call.run = await runs.named(runId, caller)
  const arriving = call.workOut(call)
  const { work, projectPath, isDryRun } = arriving instanceof Promise ? await arriving : arriving
  call.run ??= work.endsRun ?? null
  call.isDryRun = isDryRun
  call.redact = redactBoth(work.redact, call.redact)
  call.work = work.redact === call.redact ? work : { ...work, redact: call.redact }
  call.projectPath = projectPath
  return next()
}
