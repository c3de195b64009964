/** What texts mean, as numbers: by the model that made them and the hash of the text, whichever items have it. */
export const vectors = `
CREATE TABLE vectors (
  -- Grows for ever, so that whoever has seen some asks for those behind it.
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  model TEXT NOT NULL,
  hash TEXT NOT NULL,
  dims INTEGER NOT NULL,
  vec BLOB NOT NULL CHECK (length(vec) = 4 * dims),
  UNIQUE (model, hash)
) STRICT;

-- Of the text that an item is found by; without a row it is not known yet.
CREATE TABLE search_hashes (
  item INTEGER PRIMARY KEY,
  hash TEXT NOT NULL
) STRICT;
CREATE INDEX items_of_one_text ON search_hashes (hash);
CREATE TRIGGER drop_search_hash AFTER DELETE ON search_items BEGIN
  DELETE FROM search_hashes WHERE item = old.id;
END;
CREATE TRIGGER renew_search_hash AFTER UPDATE ON search_items BEGIN
  DELETE FROM search_hashes WHERE item = old.id;
END;

-- Which process makes the vectors of a model, and how that last ended.
CREATE TABLE embedding (
  model TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  held_until INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  retry_at INTEGER NOT NULL,
  error TEXT,
  -- What nobody uses for long is dropped.
  used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`
