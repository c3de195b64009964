/** Questions to a person, each bound to one exact call. */
export const approvals = `
CREATE TABLE approvals (
  id TEXT PRIMARY KEY,
  call_hash TEXT NOT NULL CHECK (length(call_hash) = 64),
  call_id TEXT NOT NULL,
  session TEXT NOT NULL,
  run TEXT,
  principal TEXT NOT NULL,
  project TEXT,
  tool TEXT NOT NULL,
  digest TEXT,
  layer TEXT NOT NULL,
  rule TEXT,
  summary TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'rejected', 'expired', 'used')),
  scope TEXT NOT NULL CHECK (scope IN ('once', 'run')),
  decided_by TEXT,
  channel TEXT,
  reason TEXT,
  replaced_by TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  decided_at INTEGER,
  mac TEXT NOT NULL,
  used_at INTEGER,
  CHECK (state NOT IN ('approved', 'rejected', 'used') OR (decided_by IS NOT NULL AND decided_at IS NOT NULL)),
  CHECK ((state = 'used') = (used_at IS NOT NULL))
) STRICT, WITHOUT ROWID;

-- Several processes that meet the same call ask once.
CREATE UNIQUE INDEX approval_open ON approvals (call_hash) WHERE state = 'pending';
CREATE INDEX approval_of_call ON approvals (call_hash, created_at);
CREATE INDEX approval_of_session ON approvals (session, state);

CREATE TRIGGER approval_ends_once BEFORE UPDATE ON approvals
WHEN old.state IN ('used', 'expired') OR new.call_hash <> old.call_hash OR new.summary <> old.summary BEGIN
  SELECT RAISE(ABORT, 'an approval that ended stays as it is');
END;
`
