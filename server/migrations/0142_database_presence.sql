-- Since when the database has been there for the processes that hold leases. A new process reads
-- it: it need not wait as if an outage had just ended when others have worked all along.

CREATE TABLE database_presence (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  up_since timestamptz NOT NULL,
  seen_at timestamptz NOT NULL
) WITH (fillfactor = 50);

INSERT INTO database_presence (up_since, seen_at) VALUES ('-infinity', '-infinity');
