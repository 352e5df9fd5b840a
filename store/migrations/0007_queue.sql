-- Work that waits in line: tasks, what was agreed to for their attempts, who has claimed them, how their runs ended.
-- Evidence and attention get kinds more; SQLite cannot change a CHECK in place.

BEGIN IMMEDIATE;
INSERT INTO schema_version (number) VALUES (7);

CREATE TABLE tasks (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,   -- shown to the operator, so never given twice
  parent       INTEGER,                  -- of one over several repositories: the first of them, which may be gone
  state        TEXT NOT NULL CHECK (state IN ('queued','working','needs-operator','done','failed','stopped')),
  title        TEXT NOT NULL,
  instruction  TEXT NOT NULL,
  repository   TEXT NOT NULL,
  paths        TEXT NOT NULL,            -- canonical JSON list of what it reserves, relative to the repository; '.' is all
  wishes       TEXT NOT NULL,            -- canonical JSON of what is asked for beyond the defaults: agent, model, budget, …
  agent        TEXT NOT NULL,            -- of the wishes; '' while nobody has said
  place        TEXT,                     -- the first of the paths, ended by '/'; '' is all, NULL reserves nothing
  places       TEXT NOT NULL,            -- the others in one text, each between two U+0001; '' where there are none
  priority     INTEGER NOT NULL,         -- higher first
  held         INTEGER NOT NULL,         -- kept back by the operator
  revision     INTEGER NOT NULL,         -- grows with every edit
  series       TEXT REFERENCES series(id),          -- the terms in force; NULL: not signed, or stale since an edit
  unmet        INTEGER NOT NULL,         -- how many of its dependencies are not done
  agreed_until INTEGER NOT NULL,         -- when its series expires, 0 without one: here, so that a claim reads one index
  spent        INTEGER NOT NULL,         -- attempts or money of its series are used up, as of when it was put in line
  not_before   INTEGER NOT NULL,         -- it waits before it is tried again; 0: it does not
  counted      INTEGER NOT NULL,         -- attempts since it was put in line (again)
  begun        INTEGER NOT NULL,         -- attempts ever; runs may be pruned, their numbers are not given twice
  token        TEXT,                     -- of the claim
  incarnation  TEXT REFERENCES incarnations(id),    -- whose claim it is
  machine      TEXT,
  uid          INTEGER,
  reason       TEXT NOT NULL,            -- why it needs the operator, failed or was stopped; '' else
  detail       TEXT NOT NULL,            -- canonical JSON of facts for that sentence
  operator     TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  claimed_at   INTEGER,
  ended_at     INTEGER,
  CHECK ((state IN ('working','needs-operator')) >= (token IS NOT NULL))
) STRICT;
-- Both cover what a claim asks, so that it reads no row: one in the order in which tasks are begun, one by where they
-- work, for repositories in which others do. (An index over generated columns covers nothing: hence the plain ones.)
CREATE INDEX tasks_claimable
  ON tasks (state, held, unmet, spent, priority DESC, id, agreed_until, not_before, agent, repository, place)
  WHERE state = 'queued' AND held = 0 AND unmet = 0 AND spent = 0 AND agreed_until > 0;
CREATE INDEX tasks_by_place
  ON tasks (state, held, unmet, spent, repository, place, priority, id, agreed_until, not_before, agent, places)
  WHERE state = 'queued' AND held = 0 AND unmet = 0 AND spent = 0 AND agreed_until > 0;
CREATE INDEX tasks_in_line ON tasks (priority DESC, id) WHERE state = 'queued';
CREATE INDEX tasks_by_state ON tasks (state, id);
CREATE INDEX tasks_by_end ON tasks (ended_at DESC, id DESC) WHERE state IN ('done','failed','stopped');
CREATE INDEX tasks_claimed ON tasks (incarnation, id) WHERE token IS NOT NULL;
CREATE INDEX tasks_by_series ON tasks (series) WHERE series IS NOT NULL;
CREATE UNIQUE INDEX tasks_once_each ON tasks (parent, repository) WHERE parent IS NOT NULL;

CREATE TABLE task_dependencies (
  task INTEGER NOT NULL REFERENCES tasks(id) ON DELETE CASCADE,
  needs INTEGER NOT NULL REFERENCES tasks(id),
  PRIMARY KEY (task, needs)
) STRICT;
CREATE INDEX task_dependents ON task_dependencies (needs);

CREATE TABLE series (
  id           TEXT NOT NULL PRIMARY KEY,
  task         INTEGER NOT NULL,
  revision     INTEGER NOT NULL,         -- of the task when it was signed
  state        TEXT NOT NULL CHECK (state IN ('open','closed')),
  terms        TEXT NOT NULL,            -- canonical JSON as signed
  digest       TEXT NOT NULL,            -- sha256 of terms
  attempts     INTEGER NOT NULL,         -- how many may be begun under it
  budget       INTEGER,                  -- for all of them, micro-dollars; NULL: none (the agent tells no cost)
  operator     TEXT NOT NULL,
  signed_at    INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL,
  closed_at    INTEGER,
  close_reason TEXT
) STRICT;
CREATE INDEX series_by_task ON series (task, signed_at);

CREATE TABLE operations (
  id          TEXT NOT NULL PRIMARY KEY,
  state       TEXT NOT NULL CHECK (state IN ('begun','claimed','nothing','admitted','retired','cancelled')),
  incarnation TEXT NOT NULL REFERENCES incarnations(id),
  task        INTEGER,                   -- set with the claim
  token       TEXT,
  begun_at    INTEGER NOT NULL,
  ended_at    INTEGER
) STRICT;
CREATE INDEX operations_open ON operations (id) WHERE state IN ('begun','claimed');

-- Told in the chain of its run, and gone with it. The series is named without a reference: a file that holds some runs
-- holds none.
CREATE TABLE attempts (
  run         INTEGER NOT NULL PRIMARY KEY REFERENCES runs(id),
  task        INTEGER NOT NULL,
  n           INTEGER NOT NULL,          -- from 1, over all series of the task
  series      TEXT NOT NULL,
  operation   TEXT NOT NULL UNIQUE,      -- a claim is carried out once
  token       TEXT NOT NULL,
  counted     INTEGER NOT NULL,          -- against its series: from admission on, until its outcome says that it is not
  at          INTEGER NOT NULL,
  UNIQUE (task, n)
) STRICT;
CREATE INDEX attempts_by_series ON attempts (series, counted);

CREATE TABLE outcomes (
  run             INTEGER NOT NULL PRIMARY KEY REFERENCES runs(id),
  task            INTEGER NOT NULL,
  state           TEXT NOT NULL CHECK (state IN ('pending','decided','acknowledged')),
  verdict         TEXT,                  -- canonical JSON of what becomes of the task, before it is carried out
  at              INTEGER NOT NULL,
  decided_at      INTEGER,
  acknowledged_at INTEGER
) STRICT;
CREATE INDEX outcomes_open ON outcomes (run) WHERE state <> 'acknowledged';

-- Agents for which nothing is claimed: until the told time, or (NULL) until the operator says so.
CREATE TABLE agent_waits (
  agent  TEXT NOT NULL PRIMARY KEY,
  reason TEXT NOT NULL,
  until  INTEGER,
  run    INTEGER,
  at     INTEGER NOT NULL
) STRICT;

ALTER TABLE attention RENAME TO attention_6;
DROP INDEX attention_open;
CREATE TABLE attention (
  id       INTEGER PRIMARY KEY,
  run      INTEGER REFERENCES runs(id),
  kind     TEXT NOT NULL CHECK (kind IN ('decision','stalled','budget','ends-soon','crashed','page','task')),
  key      TEXT NOT NULL,                -- one open item per (run, kind, key)
  text     TEXT NOT NULL,
  since    INTEGER NOT NULL,
  cleared_at INTEGER,
  cleared_by TEXT
) STRICT;
INSERT INTO attention SELECT * FROM attention_6;
DROP TABLE attention_6;
CREATE UNIQUE INDEX attention_open ON attention (coalesce(run, 0), kind, key) WHERE cleared_at IS NULL;

ALTER TABLE evidence RENAME TO evidence_6;
DROP INDEX evidence_by_run;
CREATE TABLE evidence (
  id      INTEGER PRIMARY KEY,
  run     INTEGER NOT NULL REFERENCES runs(id),
  kind    TEXT NOT NULL CHECK (kind IN ('mailbox','handoff','diff','status','git-config','files','check')),
  sha256  TEXT NOT NULL,
  size    INTEGER NOT NULL,
  note    TEXT NOT NULL,
  content BLOB NOT NULL,
  at      INTEGER NOT NULL
) STRICT;
INSERT INTO evidence SELECT * FROM evidence_6;
DROP TABLE evidence_6;
CREATE INDEX evidence_by_run ON evidence (run, id);

COMMIT;
