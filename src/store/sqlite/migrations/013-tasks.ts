/** Work that outlives the request it was asked for with. */
export const tasks = `
CREATE TABLE tasks (
  id TEXT PRIMARY KEY,
  principal TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('working', 'input_required', 'completed', 'failed', 'cancelled')),
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  ttl_ms INTEGER NOT NULL,
  owner TEXT NOT NULL,
  input_requests TEXT NOT NULL,
  input_responses TEXT NOT NULL,
  result TEXT,
  error TEXT,
  -- Milliseconds since 1970: from then on nobody may rely on it.
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tasks_by_end ON tasks (expires_at);
`
