/** What calls changed, as it was before. Bytes are kept once, however many calls changed them. */
export const undo = `
CREATE TABLE checkpoints (
  seq INTEGER PRIMARY KEY,
  call_id TEXT NOT NULL UNIQUE,
  run TEXT,
  session TEXT NOT NULL,
  principal TEXT NOT NULL,
  project TEXT,
  tool TEXT NOT NULL,
  tier TEXT NOT NULL CHECK (tier IN ('files', 'tree', 'call')),
  state TEXT NOT NULL CHECK (state IN ('open', 'closed', 'undone')),
  undone_by TEXT,
  wall INTEGER NOT NULL,
  details TEXT NOT NULL
) STRICT;
CREATE INDEX checkpoints_by_session ON checkpoints (session);
CREATE INDEX checkpoints_by_run ON checkpoints (run) WHERE run IS NOT NULL;
CREATE INDEX checkpoints_unfinished ON checkpoints (project) WHERE state = 'open';
CREATE INDEX checkpoints_by_undo ON checkpoints (undone_by) WHERE undone_by IS NOT NULL;

CREATE TABLE kept_paths (
  checkpoint INTEGER NOT NULL,
  path TEXT NOT NULL,
  before TEXT NOT NULL,
  after TEXT,
  -- Of the bytes before.
  hash TEXT,
  PRIMARY KEY (checkpoint, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX kept_paths_by_hash ON kept_paths (hash) WHERE hash IS NOT NULL;

CREATE TABLE kept_bytes (
  hash TEXT PRIMARY KEY,
  size INTEGER NOT NULL,
  codec TEXT NOT NULL CHECK (codec IN ('plain', 'deflate')),
  bytes BLOB NOT NULL
) STRICT;
CREATE INDEX kept_bytes_by_size ON kept_bytes (size);
`
