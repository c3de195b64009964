/** What the last searches at the command line showed: the command that runs one of it is another process. */
export const searches = `
CREATE TABLE searches (
  id INTEGER PRIMARY KEY,
  principal TEXT NOT NULL,
  -- Where it was searched; empty outside of any project.
  project TEXT NOT NULL,
  at INTEGER NOT NULL,
  -- Stems in order, with blanks between them.
  words TEXT NOT NULL,
  -- The row in search_items for each id, as JSON.
  items TEXT NOT NULL
) STRICT;
`
