/** Which content of which tool may read which secret, and where it may put it. */
export const grants = `
CREATE TABLE grants (
  -- Whose calls: a principal, or * for everybody who calls here.
  principal TEXT NOT NULL,
  tool TEXT NOT NULL,
  -- Other content is another tool.
  digest TEXT NOT NULL CHECK (length(digest) = 64),
  secret TEXT NOT NULL,
  -- env:NAME, header:name or host:name; empty: wherever the manifest names it.
  sink TEXT NOT NULL,
  granted_at TEXT NOT NULL,
  granted_by TEXT NOT NULL,
  PRIMARY KEY (tool, secret, digest, principal, sink)
) STRICT, WITHOUT ROWID;
`
