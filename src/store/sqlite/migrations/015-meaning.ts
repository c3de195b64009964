/** The words of the index, to find what was misspelt, and what each item is about, to find what was said otherwise. */
export const meaning = `
CREATE VIRTUAL TABLE search_words USING fts5vocab('search_text', 'row');
CREATE TABLE search_vectors (
  -- Grows with every change, so that a reader takes up what is new.
  change INTEGER PRIMARY KEY AUTOINCREMENT,
  row_id INTEGER NOT NULL UNIQUE,
  -- Empty until it is worked out.
  vector BLOB NOT NULL
) STRICT;
CREATE TRIGGER drop_search_vector AFTER DELETE ON search_items BEGIN
  DELETE FROM search_vectors WHERE row_id = old.id;
END;
CREATE INDEX vectors_to_work_out ON search_vectors (row_id) WHERE vector = x'';
-- Files and lists are read again, so that they are found by what is indexed now.
DELETE FROM search_items WHERE space IN ('project', 'user', 'mcp');
INSERT INTO search_vectors (row_id, vector) SELECT id, x'' FROM search_items;
`
