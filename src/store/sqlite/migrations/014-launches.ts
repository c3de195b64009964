/** How the servers of a project were started when a person trusted it, or first: another command has to be trusted anew. */
export const launches = `
CREATE TABLE launches (
  -- The folder of the project with every link followed.
  project TEXT NOT NULL,
  server TEXT NOT NULL,
  identity TEXT NOT NULL CHECK (length(identity) = 64),
  kept_at TEXT NOT NULL,
  kept_by TEXT NOT NULL,
  PRIMARY KEY (project, server)
) STRICT, WITHOUT ROWID;
`
