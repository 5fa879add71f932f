// The migrations that rewrite `audience` with its columns in another order. An upgraded database
// has rows, and may have grants on the table.
import { beforeEach, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../packages/postgres/test/database.ts';
import { listMigrations, migrate } from '../src/ground/database/migrations.ts';
import { platformUnits } from '../src/people/audience/platform-units.ts';

const { sql } = await createTestDatabase();
const migrations = await listMigrations();

/** Inserts a row with a distinct value in each column that is not given. */
async function insertRow(i: number, fields: object): Promise<void> {
  const columns = await sql<{ name: string; type: string }[]>`
    SELECT attname::text AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
    WHERE attrelid = 'audience'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`;
  const row = columns.map(({ name, type }, at) => {
    if (type === 'uuid') return [name, `00000000-0000-4000-8000-${String(i * 1000 + at).padStart(12, '0')}`];
    if (type === 'integer') return [name, 2 ** at % 9973];
    if (type === 'double precision') return [name, at + i / 8];
    if (type === 'boolean') return [name, (at + i) % 2 === 0];
    if (type === 'jsonb') return [name, { [String(at)]: i }];
    return [name, type.startsWith('timestamp') ? new Date(1e12 + at * 1000 + i) : `${name} of ${i}`];
  });
  await sql`
    INSERT INTO audience SELECT * FROM jsonb_populate_record(NULL::audience, ${sql.json(Object.fromEntries(row))}
      || ${sql.json(fields as Record<string, string>)})`;
}

/**
 * The rows by column name, wherever a column stands. Columns that the database computes are left
 * out.
 */
const rows = () => sql`SELECT to_jsonb(a) - 'platform_unit' AS row FROM audience a ORDER BY device_id`;

const nobodys = { user_id: null, external_id: null, user_created_at: null, first_name: null, country: null };

describe.each(['audience_in_order', 'platform_units'])(
  'an audience whose columns are put into another order (%s)',
  (migration) => {
    const rewriting = migrations.find(({ name }) => name.endsWith(`_${migration}.sql`));

    beforeEach(async () => {
      await sql`DROP SCHEMA public CASCADE`;
      await sql`CREATE SCHEMA public`;
      await migrate(
        sql,
        migrations.filter(({ number }) => number < (rewriting?.number ?? 0)),
      );
      expect(rewriting).toBeDefined();
      await insertRow(1, {});
      await insertRow(2, { user_block: null, user_bit: 0, platform: 'web', active: false });
      await insertRow(3, {
        ...nobodys,
        platform: 'ios',
        language: null,
        user_timezone: null,
        user_block: null,
        user_bit: null,
      });
      // Rows from before users had numbers.
      await insertRow(4, { ...nobodys, language: null, user_timezone: null, user_block: null, user_bit: 0 });
    });

    it('R-93 keeps every value of every row, its grants, and its storage options', async () => {
      await sql`GRANT SELECT ON audience TO PUBLIC`;
      await sql`ALTER TABLE audience SET (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05)`;
      const before = await rows();
      expect(Object.keys(before[0]?.['row']).length).toBeGreaterThan(90);
      expect(Object.values(before[0]?.['row'])).not.toContain(null);
      expect(await migrate(sql)).toContain(rewriting?.name);
      expect(await rows()).toEqual(before);
      const units = await sql<
        { platform: string; platformUnit: number }[]
      >`SELECT platform, platform_unit FROM audience`;
      expect(Object.fromEntries(units.map((row) => [row.platform, row.platformUnit]))).toMatchObject({
        web: platformUnits.web,
        ios: platformUnits.ios,
        'platform of 1': platformUnits.android,
      });
      const [table] = await sql`
      SELECT c.reloptions, EXISTS (SELECT FROM aclexplode(c.relacl) WHERE grantee = 0 AND privilege_type = 'SELECT') AS is_public
      FROM pg_class c WHERE c.oid = 'audience'::regclass`;
      expect({ ...table }).toEqual({
        reloptions: ['fillfactor=90', 'autovacuum_vacuum_scale_factor=0.05'],
        isPublic: true,
      });
    });

    it('R-93 is left unchanged with a message when it has columns or grants that would be lost', async () => {
      const before = await rows();
      await sql`ALTER TABLE audience ADD COLUMN "Their own" text`;
      await expect(migrate(sql)).rejects.toThrow(/columns that are not Carillon's, and would lose them: "Their own"/);
      await sql`ALTER TABLE audience DROP COLUMN "Their own"`;
      await sql`CREATE VIEW readers AS SELECT device_id FROM audience`;
      await expect(migrate(sql)).rejects.toThrow(/other objects depend on it/);
      expect(await rows()).toEqual(before);
      await sql`DROP VIEW readers`;
      expect(await migrate(sql)).toContain(rewriting?.name);
      expect(await rows()).toEqual(before);
    });
  },
);
