/** Runs, and the layers each is judged by. */
export const runs = `
CREATE TABLE runs (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('session', 'run', 'thread')),
  parent TEXT REFERENCES runs (id),
  root TEXT NOT NULL,
  principal TEXT NOT NULL,
  directive TEXT,
  own TEXT NOT NULL CHECK (json_type(own) = 'array'),
  ceiling TEXT NOT NULL CHECK (json_type(ceiling) = 'array'),
  opened_at TEXT NOT NULL,
  closed_at TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_by_parent ON runs (parent);

CREATE TRIGGER runs_keep_their_layers BEFORE UPDATE ON runs
WHEN new.own <> old.own OR new.ceiling <> old.ceiling OR new.principal <> old.principal
  OR new.parent IS NOT old.parent OR old.closed_at IS NOT NULL BEGIN
  SELECT RAISE(ABORT, 'a run keeps its layers, and does not begin again');
END;
`
