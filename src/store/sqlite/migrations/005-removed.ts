/** What a version was stays known when its tool is removed: its number is never given to other content. */
export const removed = `
CREATE TABLE removed_versions (
  tool_id TEXT NOT NULL,
  version TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  PRIMARY KEY (tool_id, version)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER removed_is_known BEFORE DELETE ON tools
WHEN old.is_official = 0 AND old.namespace = 'public' BEGIN
  INSERT OR IGNORE INTO removed_versions
    SELECT old.tool_id, version, content_hash FROM tool_versions WHERE tool_pk = old.id;
END;
CREATE TRIGGER removed_not_changed BEFORE UPDATE ON removed_versions BEGIN
  SELECT RAISE(ABORT, 'a removed version cannot change');
END;
CREATE TRIGGER removed_not_forgotten BEFORE DELETE ON removed_versions BEGIN
  SELECT RAISE(ABORT, 'a removed version is not forgotten');
END;

-- What Kiwi ships is not bound by what somebody once published under its id.
CREATE TRIGGER removed_comes_back_as_it_was BEFORE INSERT ON tool_versions
WHEN NOT EXISTS (SELECT 1 FROM seeding) AND EXISTS (
  SELECT 1 FROM removed_versions r JOIN tools t ON t.tool_id = r.tool_id
  WHERE t.id = new.tool_pk AND r.version = new.version AND r.content_hash <> new.content_hash
) BEGIN
  SELECT RAISE(ABORT, 'a removed version comes back only as it was');
END;
`
