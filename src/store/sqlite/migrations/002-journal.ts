/** One hash-linked chain of records. A body can be erased; the chain holds on to its hash. */
export const journal = `
CREATE TABLE journal (
  seq INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('decision', 'outcome')),
  call_id TEXT NOT NULL,
  session TEXT NOT NULL,
  principal TEXT NOT NULL,
  operation TEXT NOT NULL,
  tool TEXT NOT NULL,
  status TEXT NOT NULL,
  wall INTEGER NOT NULL,
  salt TEXT,
  body TEXT,
  body_hash TEXT NOT NULL,
  prev_hash TEXT NOT NULL,
  hash TEXT NOT NULL,
  UNIQUE (call_id, kind)
) STRICT;

-- The salt goes with the body: with it, a short body could be guessed from its hash.
CREATE TRIGGER record_not_changed BEFORE UPDATE ON journal
WHEN new.body IS NOT NULL OR (new.salt IS NOT NULL AND new.salt IS NOT old.salt)
  OR new.seq <> old.seq OR new.kind <> old.kind OR new.call_id <> old.call_id OR new.session <> old.session
  OR new.principal <> old.principal OR new.operation <> old.operation OR new.tool <> old.tool
  OR new.status <> old.status OR new.wall <> old.wall OR new.body_hash <> old.body_hash
  OR new.prev_hash <> old.prev_hash OR new.hash <> old.hash BEGIN
  SELECT RAISE(ABORT, 'a record cannot change');
END;
CREATE TRIGGER record_not_deleted BEFORE DELETE ON journal BEGIN
  SELECT RAISE(ABORT, 'a record cannot be deleted');
END;
`
