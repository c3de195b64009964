/** Tools, their versions and files. The rules that must hold whoever writes are constraints and triggers. */
export const registry = `
CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES ('registry_generation', 1);

-- Holds a row only inside the transaction that seeds.
CREATE TABLE seeding (is_on INTEGER PRIMARY KEY CHECK (is_on = 1)) STRICT;

CREATE TABLE tools (
  id TEXT PRIMARY KEY,
  tool_id TEXT NOT NULL CHECK (tool_id <> ''),
  namespace TEXT NOT NULL DEFAULT 'public',
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  tool_type TEXT NOT NULL CHECK (tool_type IN ('primitive', 'runtime', 'mcp_server', 'mcp_tool', 'script',
    'api', 'directive', 'thread', 'knowledge', 'composite')),
  executor_id TEXT,
  category TEXT,
  subcategory TEXT,
  tags TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags)),
  is_official INTEGER NOT NULL DEFAULT 0 CHECK (is_official IN (0, 1)),
  is_builtin INTEGER NOT NULL DEFAULT 0 CHECK (is_builtin IN (0, 1)),
  visibility TEXT NOT NULL DEFAULT 'public' CHECK (visibility IN ('public', 'unlisted', 'private')),
  download_count INTEGER NOT NULL DEFAULT 0 CHECK (download_count >= 0),
  quality_score REAL NOT NULL DEFAULT 0 CHECK (quality_score = round(quality_score, 2)),
  latest_version TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  UNIQUE (namespace, tool_id),
  CHECK ((executor_id IS NULL) = (tool_type IN ('primitive', 'knowledge', 'composite')))
) STRICT;

CREATE TABLE tool_versions (
  id TEXT PRIMARY KEY,
  tool_pk TEXT NOT NULL REFERENCES tools (id) ON DELETE CASCADE,
  version TEXT NOT NULL CHECK (version GLOB '[0-9]*.[0-9]*.[0-9]*'),
  -- Of this version: a pinned one runs on the executor it was published with.
  executor_id TEXT,
  manifest TEXT NOT NULL CHECK (json_valid(manifest)),
  manifest_yaml TEXT,
  content_hash TEXT NOT NULL,
  changelog TEXT,
  is_latest INTEGER NOT NULL DEFAULT 0 CHECK (is_latest IN (0, 1)),
  created_at TEXT NOT NULL,
  UNIQUE (tool_pk, version)
) STRICT;
CREATE UNIQUE INDEX one_latest ON tool_versions (tool_pk) WHERE is_latest = 1;

CREATE TABLE blobs (
  key TEXT PRIMARY KEY,
  bytes BLOB NOT NULL
) STRICT;

CREATE TABLE tool_version_files (
  version_pk TEXT NOT NULL REFERENCES tool_versions (id) ON DELETE CASCADE,
  path TEXT NOT NULL CHECK (path <> '' AND path NOT LIKE '/%' AND '/' || path || '/' NOT LIKE '%/../%'),
  media_type TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  -- 0644 or 0755.
  mode INTEGER NOT NULL CHECK (mode IN (420, 493)),
  is_entrypoint INTEGER NOT NULL CHECK (is_entrypoint IN (0, 1)),
  content_text TEXT,
  storage_key TEXT REFERENCES blobs (key),
  UNIQUE (version_pk, path),
  CHECK ((content_text IS NULL) <> (storage_key IS NULL))
) STRICT;
CREATE INDEX files_of_blob ON tool_version_files (storage_key) WHERE storage_key IS NOT NULL;

CREATE TRIGGER drop_unused_blob AFTER DELETE ON tool_version_files WHEN old.storage_key IS NOT NULL BEGIN
  DELETE FROM blobs WHERE key = old.storage_key
    AND NOT EXISTS (SELECT 1 FROM tool_version_files WHERE storage_key = old.storage_key);
END;

CREATE TRIGGER latest_inserted AFTER INSERT ON tool_versions WHEN new.is_latest = 1 BEGIN
  UPDATE tools SET latest_version = new.version WHERE id = new.tool_pk;
END;
CREATE TRIGGER latest_moved AFTER UPDATE OF is_latest ON tool_versions WHEN new.is_latest = 1 BEGIN
  UPDATE tools SET latest_version = new.version WHERE id = new.tool_pk;
END;
CREATE TRIGGER latest_deleted AFTER DELETE ON tool_versions WHEN old.is_latest = 1 BEGIN
  UPDATE tools SET latest_version = NULL WHERE id = old.tool_pk;
END;
CREATE TRIGGER latest_agrees BEFORE UPDATE OF latest_version ON tools
WHEN new.latest_version IS NOT (SELECT version FROM tool_versions WHERE tool_pk = new.id AND is_latest = 1) BEGIN
  SELECT RAISE(ABORT, 'latest_version must be the version marked is_latest');
END;

CREATE TRIGGER version_is_final
BEFORE UPDATE OF id, tool_pk, version, executor_id, manifest, manifest_yaml, content_hash, changelog, created_at
ON tool_versions BEGIN
  SELECT RAISE(ABORT, 'a published version cannot change');
END;
CREATE TRIGGER file_is_final BEFORE UPDATE ON tool_version_files BEGIN
  SELECT RAISE(ABORT, 'a published file cannot change');
END;

CREATE TRIGGER builtin_not_inserted BEFORE INSERT ON tools
WHEN new.is_builtin = 1 AND NOT EXISTS (SELECT 1 FROM seeding) BEGIN
  SELECT RAISE(ABORT, 'only seeding makes builtin tools');
END;
CREATE TRIGGER builtin_not_changed
BEFORE UPDATE OF id, tool_id, namespace, tool_type, executor_id, is_builtin, is_official, latest_version ON tools
WHEN (old.is_builtin = 1 OR new.is_builtin = 1) AND NOT EXISTS (SELECT 1 FROM seeding) BEGIN
  SELECT RAISE(ABORT, 'a builtin tool cannot change');
END;
CREATE TRIGGER builtin_not_deleted BEFORE DELETE ON tools
WHEN old.is_builtin = 1 AND NOT EXISTS (SELECT 1 FROM seeding) BEGIN
  SELECT RAISE(ABORT, 'a builtin tool cannot be deleted');
END;
CREATE TRIGGER builtin_version_not_inserted BEFORE INSERT ON tool_versions
WHEN NOT EXISTS (SELECT 1 FROM seeding)
  AND EXISTS (SELECT 1 FROM tools WHERE id = new.tool_pk AND is_builtin = 1) BEGIN
  SELECT RAISE(ABORT, 'a builtin tool cannot change');
END;
CREATE TRIGGER builtin_version_not_deleted BEFORE DELETE ON tool_versions
WHEN NOT EXISTS (SELECT 1 FROM seeding)
  AND EXISTS (SELECT 1 FROM tools WHERE id = old.tool_pk AND is_builtin = 1) BEGIN
  SELECT RAISE(ABORT, 'a builtin tool cannot change');
END;
CREATE TRIGGER builtin_file_not_inserted BEFORE INSERT ON tool_version_files
WHEN NOT EXISTS (SELECT 1 FROM seeding) AND EXISTS (SELECT 1 FROM tool_versions v JOIN tools t ON t.id = v.tool_pk
  WHERE v.id = new.version_pk AND t.is_builtin = 1) BEGIN
  SELECT RAISE(ABORT, 'a builtin tool cannot change');
END;
CREATE TRIGGER builtin_file_not_deleted BEFORE DELETE ON tool_version_files
WHEN NOT EXISTS (SELECT 1 FROM seeding) AND EXISTS (SELECT 1 FROM tool_versions v JOIN tools t ON t.id = v.tool_pk
  WHERE v.id = old.version_pk AND t.is_builtin = 1) BEGIN
  SELECT RAISE(ABORT, 'a builtin tool cannot change');
END;
`
