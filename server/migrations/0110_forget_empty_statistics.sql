-- Makes the planner forget that `audience` was empty when earlier migrations analyzed it: a plan made in the first minutes
-- would read all of the table each time. In a table without statistics the planner expects ten pages, and uses an index. Only
-- TRUNCATE forgets statistics before PostgreSQL 18. A table with rows keeps its own, and is not locked.
DO $$
BEGIN
  IF EXISTS (SELECT FROM audience) THEN
    RETURN;
  END IF;
  LOCK TABLE audience IN ACCESS EXCLUSIVE MODE;
  -- A process of the version before may have added a device meanwhile.
  IF NOT EXISTS (SELECT FROM audience) THEN
    TRUNCATE audience;
  END IF;
END $$;
