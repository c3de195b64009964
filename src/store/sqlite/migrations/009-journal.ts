/**
 * Beside the wall clock the one that never goes back, and the session a session came from. Records from before have
 * neither, and keep the hash they were written with.
 */
export const journalTimes = `
ALTER TABLE journal ADD COLUMN mono INTEGER;
ALTER TABLE journal ADD COLUMN parent_session TEXT;
CREATE INDEX sessions_below ON journal (parent_session, session) WHERE parent_session IS NOT NULL;

CREATE TRIGGER record_times_not_changed BEFORE UPDATE ON journal
WHEN new.mono IS NOT old.mono OR new.parent_session IS NOT old.parent_session BEGIN
  SELECT RAISE(ABORT, 'a record cannot change');
END;
`
