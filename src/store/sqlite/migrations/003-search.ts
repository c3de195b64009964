/** What search filters by, in narrow rows since each match reads one, and beside it the words it finds by. */
export const search = `
CREATE TABLE search_items (
  id INTEGER PRIMARY KEY,
  space TEXT NOT NULL CHECK (space IN ('project', 'user', 'builtin', 'registry')),
  -- Folder of a file space, else empty.
  root TEXT NOT NULL,
  -- Path of a file, else the tool_id.
  path TEXT NOT NULL,
  stamp TEXT NOT NULL,
  item_id TEXT NOT NULL,
  item_type TEXT NOT NULL,
  tool_type TEXT NOT NULL,
  name TEXT NOT NULL,
  category TEXT,
  tags TEXT NOT NULL CHECK (json_valid(tags)),
  version TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  downloads INTEGER NOT NULL DEFAULT 0,
  UNIQUE (space, root, path)
) STRICT;
CREATE INDEX items_of_one_id ON search_items (item_id, item_type, space, root);

CREATE VIRTUAL TABLE search_text USING fts5(
  name, description, category, tags, parameters, body,
  tokenize = 'porter unicode61'
);
CREATE TRIGGER drop_search_text AFTER DELETE ON search_items BEGIN
  DELETE FROM search_text WHERE rowid = old.id;
END;
`
