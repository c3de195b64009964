/** Which items were run after searches for which words. */
export const uses = `
CREATE TABLE uses (
  id INTEGER PRIMARY KEY,
  -- Where the item lives, as in search_items.
  space TEXT NOT NULL,
  root TEXT NOT NULL,
  item_type TEXT NOT NULL,
  item_id TEXT NOT NULL,
  -- Stems in order, with blanks between them.
  words TEXT NOT NULL,
  times REAL NOT NULL CHECK (times > 0),
  last INTEGER NOT NULL,
  UNIQUE (space, root, item_type, item_id, words)
) STRICT;
CREATE INDEX oldest_uses_of_a_space ON uses (space, root, last);
CREATE INDEX oldest_uses ON uses (last);

CREATE TABLE use_words (
  word TEXT NOT NULL,
  use_id INTEGER NOT NULL,
  PRIMARY KEY (word, use_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX words_of_a_use ON use_words (use_id);
CREATE TRIGGER drop_use_words AFTER DELETE ON uses BEGIN
  DELETE FROM use_words WHERE use_id = old.id;
END;
`
