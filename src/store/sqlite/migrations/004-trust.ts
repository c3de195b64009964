/** Projects a person vouched for, and the signatures of what has no line to carry one. */
export const trust = `
CREATE TABLE trusted_projects (
  -- The folder with every link followed: another name for it is no other project.
  path TEXT PRIMARY KEY,
  trusted_at TEXT NOT NULL,
  trusted_by TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE signatures (
  -- The path of a file, else the version of the registry.
  place TEXT PRIMARY KEY,
  content_hash TEXT NOT NULL CHECK (length(content_hash) = 64),
  time TEXT NOT NULL,
  signature TEXT NOT NULL,
  fingerprint TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`
