-- The ledger, first form. Entries are the facts; all other tables are their projection, kept for speed and for guards.
-- Times are integer milliseconds UTC and come in as parameters. Money is whole micro-dollars. Booleans are 0 or 1.
-- The number comes first: of two consoles that migrate at once, the second fails here and changes nothing.

BEGIN IMMEDIATE;
INSERT INTO schema_version (number) VALUES (1);
PRAGMA application_id = 1179602025;      -- 'FOPi': tells a ledger from any other SQLite file

CREATE TABLE ledger (
  id            TEXT NOT NULL PRIMARY KEY,
  machine       TEXT NOT NULL,
  created_at    INTEGER NOT NULL,
  digest_key    TEXT NOT NULL            -- keys the digests of bytes sent, so that a digest tells nothing to a reader
) STRICT;

CREATE TABLE entries (
  seq   INTEGER PRIMARY KEY,             -- over the whole ledger
  run   INTEGER NOT NULL,                -- 0: the ledger's own chain
  n     INTEGER NOT NULL,                -- place in its chain, from 1
  at    INTEGER NOT NULL,
  kind  TEXT NOT NULL,
  body  TEXT NOT NULL,                   -- canonical JSON
  prev  TEXT NOT NULL,                   -- hash of entry n-1 of the same chain, '' for the first
  hash  TEXT NOT NULL,
  UNIQUE (run, n)
) STRICT;
CREATE TRIGGER entries_no_update BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;
CREATE TRIGGER entries_no_delete BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;

CREATE TABLE incarnations (
  id           TEXT NOT NULL PRIMARY KEY,
  boot_id      TEXT NOT NULL,
  pid          INTEGER NOT NULL,
  start_ticks  INTEGER NOT NULL,
  machine      TEXT NOT NULL,
  uid          INTEGER NOT NULL,
  lock_path    TEXT NOT NULL,            -- held by flock while it lives
  socket_path  TEXT NOT NULL,            -- poked when a command waits
  operator     TEXT NOT NULL,
  started_at   INTEGER NOT NULL,
  ended_at     INTEGER
) STRICT;

CREATE TABLE settings (
  name  TEXT NOT NULL PRIMARY KEY,       -- e.g. 'admission' = 'open' | 'shut'
  value TEXT NOT NULL,
  at    INTEGER NOT NULL
) STRICT;

CREATE TABLE authorizations (
  id          TEXT NOT NULL PRIMARY KEY,
  state       TEXT NOT NULL CHECK (state IN ('open','bound','closed')),
  run         INTEGER,                   -- set when bound
  terms       TEXT NOT NULL,             -- canonical JSON as signed
  digest      TEXT NOT NULL,             -- sha256 of terms
  operator    TEXT NOT NULL,
  signed_at   INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL,
  closed_at   INTEGER,
  close_reason TEXT
) STRICT;

CREATE TABLE amendments (
  id             INTEGER PRIMARY KEY,
  authorization_id TEXT NOT NULL REFERENCES authorizations(id),
  at             INTEGER NOT NULL,
  operator       TEXT NOT NULL,
  money          INTEGER,                -- added micro-dollars
  turns          INTEGER,                -- added turns
  expires_at     INTEGER                 -- new end
) STRICT;

CREATE INDEX amendments_by_authorization ON amendments (authorization_id, id);

CREATE TABLE runs (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,   -- shown to the operator, so never given twice
  title        TEXT NOT NULL,
  agent        TEXT NOT NULL,            -- profile name
  driver       TEXT NOT NULL,
  billing      TEXT NOT NULL CHECK (billing IN ('key','subscription','practice')),
  repository   TEXT NOT NULL,            -- top level of the repository
  tree         TEXT NOT NULL,            -- where the agent works; equal to repository when in place
  head         TEXT NOT NULL,            -- commit at the start, '' until the tree is prepared
  branch       TEXT NOT NULL,
  authorization_id TEXT NOT NULL REFERENCES authorizations(id),
  incarnation  TEXT NOT NULL REFERENCES incarnations(id),
  operator     TEXT NOT NULL,
  step         TEXT NOT NULL,            -- how far the launch came: admitted, prepared, proven, spawned, live
  created_at   INTEGER NOT NULL,
  ended_at     INTEGER,
  outcome      TEXT CHECK (outcome IN ('finished','failed','interrupted','refused')),
  reason       TEXT,
  detail       TEXT NOT NULL DEFAULT '',
  native_id    TEXT,                     -- the agent's own conversation
  model        TEXT,
  mode         TEXT,
  pinned       INTEGER NOT NULL DEFAULT 0,
  seen_at      INTEGER NOT NULL DEFAULT 0, -- when the operator last had it in view for a second
  continues    INTEGER REFERENCES runs(id),
  events       INTEGER NOT NULL DEFAULT 0, -- kept with every append: counting a million rows takes too long to show
  CHECK ((outcome IS NULL) = (ended_at IS NULL))
) STRICT;
CREATE INDEX runs_by_repository ON runs (repository, id);
CREATE INDEX runs_live ON runs (id) WHERE outcome IS NULL;

CREATE TABLE custody (
  id            TEXT NOT NULL PRIMARY KEY,
  run           INTEGER NOT NULL REFERENCES runs(id),
  state         TEXT NOT NULL CHECK (state IN ('proposed','open','restarting','concluding','fencing','closed')),
  incarnation   TEXT NOT NULL REFERENCES incarnations(id),
  epoch         INTEGER NOT NULL,
  generation    INTEGER NOT NULL,
  tree          TEXT NOT NULL,
  in_place      INTEGER NOT NULL,
  native_id     TEXT,
  nonce         TEXT NOT NULL,
  boot_id       TEXT NOT NULL DEFAULT '',
  supervisor_pid   INTEGER,
  supervisor_ticks INTEGER,
  keeper_pid    INTEGER,
  keeper_ticks  INTEGER,
  agent_pid     INTEGER,
  agent_ticks   INTEGER,
  ingested      INTEGER NOT NULL DEFAULT 0,   -- spool offset up to which all is in the ledger
  driver_state  BLOB,                         -- the driver's snapshot
  driver_offset INTEGER NOT NULL DEFAULT 0,   -- spool offset at which that snapshot was taken
  fence_reason  TEXT,
  created_at    INTEGER NOT NULL,
  closed_at     INTEGER
) STRICT;
CREATE INDEX custody_by_run ON custody (run, created_at);
CREATE UNIQUE INDEX custody_one_per_run ON custody (run) WHERE state <> 'closed';
CREATE UNIQUE INDEX custody_one_per_tree ON custody (tree) WHERE state <> 'closed' AND in_place = 1;
CREATE UNIQUE INDEX custody_one_per_conversation ON custody (native_id) WHERE state <> 'closed' AND native_id IS NOT NULL;

CREATE TABLE turns (
  id          TEXT NOT NULL PRIMARY KEY,
  run         INTEGER NOT NULL REFERENCES runs(id),
  n           INTEGER NOT NULL,          -- from 1, the brief
  state       TEXT NOT NULL CHECK (state IN ('recorded','written','accepted','settled','cancelled','uncertain')),
  source      TEXT NOT NULL CHECK (source IN ('brief','operator','answer','repair','agent')),
  generation  INTEGER NOT NULL,
  text        TEXT NOT NULL,             -- redacted
  preamble    TEXT NOT NULL DEFAULT '',  -- what Footplate added
  bytes       INTEGER NOT NULL,          -- length of what was sent
  digest      TEXT NOT NULL,             -- keyed digest of what was sent
  operator    TEXT NOT NULL,
  recorded_at INTEGER NOT NULL,
  written_at  INTEGER,
  accepted_at INTEGER,
  ended_at    INTEGER,
  result      TEXT CHECK (result IN ('success','error','interrupted')),
  subtype     TEXT NOT NULL DEFAULT '',
  failure     TEXT,
  failure_text TEXT NOT NULL DEFAULT '',
  cost        INTEGER,                   -- this turn's own, NULL unknown
  cost_known  TEXT CHECK (cost_known IN ('reported','guess','merged','unknown')),
  cumulative  INTEGER,                   -- the agent's own total when it settled
  input_tokens INTEGER, output_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER,
  duration_ms INTEGER,
  events_hash TEXT,                      -- over the events of the turn, in order
  UNIQUE (run, n)
) STRICT;
CREATE UNIQUE INDEX turns_one_in_flight ON turns (run) WHERE state IN ('recorded','written','accepted') AND source <> 'agent';

CREATE INDEX turns_by_end ON turns (ended_at) WHERE cost IS NOT NULL;   -- money pooled by day and month

CREATE TABLE queued_turns (
  id         INTEGER PRIMARY KEY,
  run        INTEGER NOT NULL REFERENCES runs(id),
  place      INTEGER NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('waiting','recorded','withdrawn','unsent')),
  text       TEXT NOT NULL,
  operator   TEXT NOT NULL,
  at         INTEGER NOT NULL,
  turn       TEXT REFERENCES turns(id)
) STRICT;
CREATE INDEX queued_waiting ON queued_turns (run, place) WHERE state = 'waiting';

CREATE TABLE decisions (
  id          INTEGER PRIMARY KEY,
  run         INTEGER NOT NULL REFERENCES runs(id),
  turn        TEXT REFERENCES turns(id),
  kind        TEXT NOT NULL CHECK (kind IN ('permission','question','plan','park')),
  state       TEXT NOT NULL CHECK (state IN ('open','answered','delivering','delivered','uncertain','undelivered','withdrawn','refused-by-agent','dismissed')),
  revision    INTEGER NOT NULL DEFAULT 1,
  request     TEXT NOT NULL,             -- the agent's id, or the park's
  generation  INTEGER NOT NULL,
  payload     TEXT NOT NULL,             -- canonical JSON of what was shown
  payload_hash TEXT NOT NULL,
  title       TEXT NOT NULL,
  subject     TEXT NOT NULL,
  asked_at    INTEGER NOT NULL,
  answer      TEXT,                      -- canonical JSON
  answered_by TEXT,
  answered_at INTEGER,
  write_id    TEXT,                      -- the control write or turn that carries the answer
  delivered_at INTEGER,
  ended_at    INTEGER,
  note        TEXT NOT NULL DEFAULT ''   -- why withdrawn, how refused
) STRICT;
-- By an expression because a UNIQUE constraint holds two NULL turns apart.
CREATE UNIQUE INDEX decisions_once ON decisions (run, coalesce(turn, ''), payload_hash, request);
CREATE INDEX decisions_by_run ON decisions (run, id);
CREATE INDEX decisions_live ON decisions (run) WHERE state IN ('open','answered','delivering','undelivered','uncertain');

CREATE TABLE events (
  id      INTEGER PRIMARY KEY,
  run     INTEGER NOT NULL REFERENCES runs(id),
  offset  INTEGER NOT NULL,              -- spool offset of the record whose bytes completed it
  n       INTEGER NOT NULL,              -- among the events of that record
  turn    TEXT,
  at      INTEGER NOT NULL,
  kind    TEXT NOT NULL,
  body    TEXT NOT NULL,                 -- canonical JSON, redacted
  UNIQUE (run, offset, n)
) STRICT;
CREATE INDEX events_by_turn ON events (turn, id) WHERE turn IS NOT NULL;
CREATE INDEX events_loose ON events (run, id) WHERE turn IS NULL;
CREATE INDEX events_by_run ON events (run, id);

CREATE TABLE control_writes (
  run      INTEGER NOT NULL REFERENCES runs(id),
  id       TEXT NOT NULL,
  generation INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  what     TEXT NOT NULL,
  state    TEXT NOT NULL CHECK (state IN ('asked','writing','wrote','cancelled','failed')),
  length   INTEGER NOT NULL,
  digest   TEXT NOT NULL,
  PRIMARY KEY (run, id)
) STRICT;

CREATE TABLE stops (
  id         INTEGER PRIMARY KEY,
  run        INTEGER NOT NULL REFERENCES runs(id),
  state      TEXT NOT NULL CHECK (state IN ('asked','ordered','settled')),
  reason     TEXT NOT NULL,
  operator   TEXT NOT NULL,
  asked_at   INTEGER NOT NULL,
  ordered_at INTEGER,
  settled_at INTEGER,
  result     TEXT CHECK (result IN ('held','already-ended','forced','never-started','unreachable'))
) STRICT;
CREATE UNIQUE INDEX stops_one_open ON stops (run) WHERE state <> 'settled';

CREATE TABLE receipts (
  custody    TEXT NOT NULL REFERENCES custody(id),
  generation INTEGER NOT NULL,
  run        INTEGER NOT NULL REFERENCES runs(id),
  at         INTEGER NOT NULL,
  body       TEXT NOT NULL,              -- canonical JSON of the receipt
  remaining  INTEGER NOT NULL,
  PRIMARY KEY (custody, generation)
) STRICT;

CREATE INDEX receipts_by_run ON receipts (run, generation);

CREATE TABLE evidence (
  id      INTEGER PRIMARY KEY,
  run     INTEGER NOT NULL REFERENCES runs(id),
  kind    TEXT NOT NULL CHECK (kind IN ('mailbox','handoff','diff','status','git-config')),
  sha256  TEXT NOT NULL,
  size    INTEGER NOT NULL,
  note    TEXT NOT NULL,
  content BLOB NOT NULL,                 -- bounded; larger evidence goes to files in a later version
  at      INTEGER NOT NULL
) STRICT;
CREATE INDEX evidence_by_run ON evidence (run, id);

CREATE TABLE attention (
  id       INTEGER PRIMARY KEY,
  run      INTEGER REFERENCES runs(id),
  kind     TEXT NOT NULL CHECK (kind IN ('decision','stalled','budget','ends-soon','crashed','page')),
  key      TEXT NOT NULL,                -- one open item per (run, kind, key)
  text     TEXT NOT NULL,
  since    INTEGER NOT NULL,
  cleared_at INTEGER,
  cleared_by TEXT
) STRICT;
CREATE UNIQUE INDEX attention_open ON attention (coalesce(run, 0), kind, key) WHERE cleared_at IS NULL;

CREATE TABLE commands (
  id          INTEGER PRIMARY KEY,
  run         INTEGER,                   -- NULL: all
  verb        TEXT NOT NULL CHECK (verb IN ('say','answer','interrupt','stop','stop-all','finish','extend','revoke')),
  body        TEXT NOT NULL,             -- canonical JSON
  operator    TEXT NOT NULL,
  asked_at    INTEGER NOT NULL,
  state       TEXT NOT NULL CHECK (state IN ('asked','taken','done','refused','expired')),
  incarnation TEXT REFERENCES incarnations(id),
  taken_at    INTEGER,
  ended_at    INTEGER,
  answer      TEXT                       -- canonical JSON: what came of it, or the refusal
) STRICT;
CREATE INDEX commands_asked ON commands (id) WHERE state = 'asked';

CREATE TABLE drafts (
  key  TEXT NOT NULL PRIMARY KEY,        -- 'run:12' or 'new:/path'
  text TEXT NOT NULL,
  at   INTEGER NOT NULL
) STRICT;

CREATE VIRTUAL TABLE search USING fts5 (text, run UNINDEXED, turn UNINDEXED, event UNINDEXED, kind UNINDEXED, tokenize = 'unicode61');

COMMIT;
