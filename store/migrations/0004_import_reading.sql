-- How an import goes on where it was cut off, and how what several files share is known again.

BEGIN IMMEDIATE;
INSERT INTO schema_version (number) VALUES (4);

-- A line, by a digest of it: it stands in many files once a session has been forked, and is read in from one.
CREATE TABLE import_keys (
  key   INTEGER PRIMARY KEY,             -- 64 bits
  run   INTEGER NOT NULL,                -- it stays when the run is pruned: what was dropped does not come again
  place INTEGER NOT NULL                 -- where in its file; below 0 in the file of a helper
) STRICT;

-- Imports that are not through: up to which event of the run's newest turn all is in the ledger.
CREATE TABLE import_reading (
  import INTEGER PRIMARY KEY REFERENCES imports(id),
  offset INTEGER NOT NULL,
  n      INTEGER NOT NULL
) STRICT;

COMMIT;
