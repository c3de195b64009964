/** What upstreams said they have, and search rows for it: of each item that belongs to a server, which one that is. */
export const catalog = `
CREATE TABLE listings (
  key TEXT PRIMARY KEY CHECK (length(key) = 64),
  server TEXT NOT NULL,
  -- 0: to be asked for again.
  listed_at INTEGER NOT NULL,
  hash TEXT NOT NULL,
  era TEXT NOT NULL CHECK (era IN ('legacy', 'modern')),
  protocol TEXT NOT NULL,
  capabilities TEXT NOT NULL,
  server_info TEXT NOT NULL,
  instructions TEXT,
  -- Of this row and all its tools: what does not fit it was not written by us.
  digest TEXT NOT NULL
) STRICT;

CREATE TABLE listed_tools (
  key TEXT NOT NULL,
  name TEXT NOT NULL,
  -- As the upstream ordered them.
  position INTEGER NOT NULL,
  raw TEXT NOT NULL,
  pin TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('usable', 'quarantined', 'missing', 'unusable')),
  reason TEXT,
  findings TEXT NOT NULL,
  approved TEXT,
  digest TEXT NOT NULL,
  PRIMARY KEY (key, name)
) STRICT;
CREATE INDEX listed_tools_in_order ON listed_tools (key, position, digest);

DROP TRIGGER drop_search_text;
ALTER TABLE search_items RENAME TO old_search_items;
DROP INDEX items_of_one_id;
CREATE TABLE search_items (
  id INTEGER PRIMARY KEY,
  space TEXT NOT NULL CHECK (space IN ('project', 'user', 'builtin', 'registry', 'mcp')),
  -- Folder of a file space, key of an upstream, else empty.
  root TEXT NOT NULL,
  -- Path of a file, name of an upstream's tool, else the tool_id.
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
  -- The server it is or belongs to, as people say it.
  server TEXT,
  UNIQUE (space, root, path)
) STRICT;
-- What lies in files is read again for its server.
INSERT INTO search_items
  SELECT id, space, root, path, CASE WHEN space IN ('project', 'user') THEN '' ELSE stamp END, item_id, item_type,
    tool_type, name, category, tags, version, updated_at, downloads,
    CASE tool_type
      WHEN 'mcp_server' THEN CASE WHEN item_id LIKE 'mcp\\_%' ESCAPE '\\' THEN substr(item_id, 5) ELSE item_id END
      WHEN 'mcp_tool' THEN substr(item_id, 1, max(0, instr(item_id, '.') - 1))
    END
  FROM old_search_items;
DROP TABLE old_search_items;
CREATE INDEX items_of_one_id ON search_items (item_id, item_type, space, root);
CREATE TRIGGER drop_search_text AFTER DELETE ON search_items BEGIN
  DELETE FROM search_text WHERE rowid = old.id;
END;
`
