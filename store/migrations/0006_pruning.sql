-- Whole runs can be dropped. What may be deleted of the entries is decided here, so that no program does more by mistake:
-- the chain of a run that has ended and whose end of the chain a tombstone in the ledger's own chain names.

BEGIN IMMEDIATE;
INSERT INTO schema_version (number) VALUES (6);

-- The tombstones, by run. A run is pruned once.
CREATE UNIQUE INDEX entries_pruned ON entries (CASE WHEN json_valid(body) THEN json_extract(body, '$.run') END)
  WHERE run = 0 AND kind = 'pruned';

DROP TRIGGER entries_no_delete;
CREATE TRIGGER entries_no_delete BEFORE DELETE ON entries
WHEN OLD.run = 0
  OR NOT EXISTS (SELECT 1 FROM runs WHERE id = OLD.run AND outcome IS NOT NULL)
  OR NOT EXISTS (
    SELECT 1 FROM entries AS stone
    WHERE stone.run = 0 AND stone.kind = 'pruned'
      AND CASE WHEN json_valid(stone.body) THEN json_extract(stone.body, '$.run') END = OLD.run
      AND (OLD.n < json_extract(stone.body, '$.n')
        OR (OLD.n = json_extract(stone.body, '$.n') AND OLD.hash = json_extract(stone.body, '$.hash'))))
BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;

-- Nothing more happens to a run that is gone.
CREATE TRIGGER entries_none_once_pruned BEFORE INSERT ON entries
WHEN NEW.run <> 0 AND EXISTS (
  SELECT 1 FROM entries AS stone
  WHERE stone.run = 0 AND stone.kind = 'pruned'
    AND CASE WHEN json_valid(stone.body) THEN json_extract(stone.body, '$.run') END = NEW.run)
BEGIN SELECT RAISE(ABORT, 'the run was pruned'); END;

COMMIT;
