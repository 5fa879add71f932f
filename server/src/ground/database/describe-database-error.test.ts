import { expect, it } from 'vitest';
import { describeDatabaseError } from './describe-database-error.ts';

const place = { databaseUrl: 'postgres://rings:hunter2@db.internal:5433/bells?sslmode=require', dataDir: '/srv/data' };

it.each([
  ['ECONNREFUSED', /^Nothing answers at db\.internal:5433 for the database 'bells' .*start PostgreSQL/],
  ['ENOTFOUND', /^The host 'db\.internal' of the database is not known .*DATABASE_URL/],
  ['CONNECT_TIMEOUT', /^db\.internal:5433 does not answer .*firewall/],
  ['28P01', /refuses the user 'rings' for the database 'bells' .*password/],
  ['28000', /refuses the user 'rings' .*pg_hba\.conf/],
  ['3D000', /has no database 'bells': make it with: createdb -h db\.internal -p 5433 -O rings bells/],
  ['42501', /^The user 'rings' may not do this .*ALTER DATABASE bells OWNER TO rings/],
  ['53300', /no connection left .*max_connections/],
  ['08P01', /^The database 'bells' at db\.internal:5433 cannot be reached \(08P01: permission denied\)/],
  ['57P03', /^The database 'bells' at db\.internal:5433 cannot be reached \(57P03\)/],
])('names server, database and what to do, and no password: %s', (code, line) => {
  const told = describeDatabaseError(Object.assign(new Error('permission denied'), { code }), place);
  expect(told).toMatch(line);
  expect(told).not.toContain('hunter2');
});

it('has defaults where an address leaves something out, and a place for the embedded database', () => {
  const refused = { code: '3D000' };
  expect(describeDatabaseError(refused, { ...place, databaseUrl: 'postgres://rings@localhost' })).toContain(
    "at localhost:5432 has no database 'rings'",
  );
  expect(describeDatabaseError(refused, { ...place, databaseUrl: null })).toContain('/srv/data/postgres.log');
});
