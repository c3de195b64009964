/** The servers of a project as a person trusted them: what is configured otherwise has to be trusted anew. */
export const launches = `
CREATE TABLE launches (
  -- The folder of the project with every link followed.
  project TEXT NOT NULL,
  server TEXT NOT NULL,
  identity TEXT NOT NULL CHECK (length(identity) = 64),
  -- A hash of each key of its config.
  parts TEXT NOT NULL CHECK (json_valid(parts)),
  kept_at TEXT NOT NULL,
  kept_by TEXT NOT NULL,
  PRIMARY KEY (project, server)
) STRICT, WITHOUT ROWID;
`
