-- An amendment may give more working time. Entries of amendments from before do not name it: they gave none.

BEGIN IMMEDIATE;
INSERT INTO schema_version (number) VALUES (2);
ALTER TABLE amendments ADD COLUMN working_seconds INTEGER;      -- added seconds of work
COMMIT;
