-- What was read in from the agents' own files, and what a review needs to be quick on a ledger of a million events.

BEGIN IMMEDIATE;
INSERT INTO schema_version (number) VALUES (3);

CREATE TABLE imports (
  id        INTEGER PRIMARY KEY,
  agent     TEXT NOT NULL,               -- whose files these are: 'claude', 'codex'
  identity  TEXT NOT NULL UNIQUE,        -- what the file says it is, wherever it lies: nothing is read in twice
  path      TEXT NOT NULL,
  run       INTEGER,                     -- NULL: nothing in it made a run. It stays when the run is pruned
  size      INTEGER NOT NULL,            -- the file's, when last looked at
  mtime     INTEGER NOT NULL,            -- nanoseconds
  digest    TEXT NOT NULL,               -- sha256 of the bytes read so far
  read_to   INTEGER NOT NULL,            -- how many they are
  at        INTEGER NOT NULL
) STRICT;
CREATE INDEX imports_by_path ON imports (path);
CREATE INDEX imports_by_run ON imports (run);

-- Runs in the order of time, which is not that of their numbers once older ones are read in.
CREATE INDEX runs_by_time ON runs (created_at, id);

-- What runs cost, without reading the turns' texts.
CREATE INDEX turns_spend ON turns (run, state, cost_known, cost);

-- Which rows of the full-text search are of which run: one line for what was filled at once.
CREATE TABLE searched (
  first INTEGER PRIMARY KEY,             -- row ids in search, from, to
  last  INTEGER NOT NULL,
  run   INTEGER NOT NULL
) STRICT;
CREATE INDEX searched_by_run ON searched (run, first, last);
INSERT INTO searched (first, last, run) SELECT min(rowid), max(rowid), run FROM search GROUP BY turn;

-- Which tools a run called, and how often.
CREATE TABLE run_tools (
  run   INTEGER NOT NULL,
  tool  TEXT NOT NULL COLLATE NOCASE,
  calls INTEGER NOT NULL,
  PRIMARY KEY (run, tool)
) STRICT, WITHOUT ROWID;
INSERT INTO run_tools (run, tool, calls)
  SELECT run, json_extract(body, '$.name') AS tool, count(*) FROM events
  WHERE kind = 'tool-started' AND turn IS NOT NULL AND json_valid(body) AND json_type(body, '$.name') = 'text'
  GROUP BY run, tool COLLATE NOCASE;

COMMIT;
