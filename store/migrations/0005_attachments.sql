-- Images that the operator sends with a turn, as they were when the operator sent them.

BEGIN IMMEDIATE;
INSERT INTO schema_version (number) VALUES (5);

CREATE TABLE attachments (
  id          INTEGER PRIMARY KEY,
  run         INTEGER NOT NULL REFERENCES runs(id),
  turn        TEXT REFERENCES turns(id),             -- NULL while its message waits in line
  queued      INTEGER REFERENCES queued_turns(id),   -- NULL for what went at once
  place       INTEGER NOT NULL,                      -- in the message, from 1
  name        TEXT NOT NULL,                         -- as the operator named it, redacted
  media_type  TEXT NOT NULL CHECK (media_type IN ('image/png','image/jpeg','image/gif','image/webp')),
  size        INTEGER NOT NULL,
  sha256      TEXT NOT NULL,
  content     BLOB NOT NULL,                         -- what the agent is sent; empty once it was dropped
  dropped     INTEGER NOT NULL DEFAULT 0,            -- taken out of the message while that waited
  at          INTEGER NOT NULL
) STRICT;
CREATE INDEX attachments_by_run ON attachments (run, id);
CREATE INDEX attachments_by_turn ON attachments (turn) WHERE turn IS NOT NULL;
CREATE INDEX attachments_by_queued ON attachments (queued) WHERE queued IS NOT NULL;

COMMIT;
