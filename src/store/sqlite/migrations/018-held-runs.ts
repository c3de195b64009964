/** The session that stays inside of a run; null for a run that any session of its principal may name. */
export const heldRuns = `
ALTER TABLE runs ADD COLUMN session TEXT;
`
