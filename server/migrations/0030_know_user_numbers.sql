-- no transaction
-- The planner learns what the columns of 0029 hold, which else it would guess at until a tenth of the rows has changed.
ANALYZE audience;
