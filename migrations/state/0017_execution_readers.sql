-- Role that the blueprint asked of who wants to see an execution, when it was made: another blueprint may not know the
-- command any more. Empty in those of earlier versions, until the gateway has judged them.
ALTER TABLE execution ADD COLUMN read_role TEXT;
-- Hardly any: a list looks up what it must leave out.
CREATE INDEX execution_guarded ON execution (read_role, id) WHERE read_role IS NOT 'READONLY';
