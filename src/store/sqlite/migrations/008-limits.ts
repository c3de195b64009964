/** Windows of calls, budgets, and how the calls of a run ended. */
export const limits = `
CREATE TABLE window_uses (
  key TEXT NOT NULL,
  at INTEGER NOT NULL,
  -- When it counts no longer: whoever counts next removes it.
  until INTEGER NOT NULL
) STRICT;
CREATE INDEX window_uses_by_key ON window_uses (key, at);
CREATE INDEX window_uses_by_end ON window_uses (until);

CREATE TABLE budgets (
  holder TEXT NOT NULL,
  kind TEXT NOT NULL,
  cap INTEGER NOT NULL CHECK (cap >= 0),
  spent INTEGER NOT NULL CHECK (spent >= 0),
  reserved INTEGER NOT NULL CHECK (reserved >= 0),
  -- Whose reservation the cap lies in; null for nobody's.
  parent TEXT,
  used_at INTEGER NOT NULL,
  PRIMARY KEY (holder, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX budgets_by_use ON budgets (used_at);

CREATE TABLE streaks (
  holder TEXT PRIMARY KEY,
  streak TEXT NOT NULL,
  used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX streaks_by_use ON streaks (used_at);
`
