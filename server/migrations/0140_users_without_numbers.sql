-- no transaction
-- Users are no longer counted by numbers. The version before writes `users.number`, `user_numbers`,
-- `audience.user_block` and `user_bit`; the next one drops them. This index served it alone, and
-- would hold every device of a user now. Without it the version before counts right, and slower.

DROP INDEX CONCURRENTLY IF EXISTS audience_unnumbered;
