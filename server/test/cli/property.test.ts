import { describe, expect, it } from 'vitest';
import { createSegment, fieldsOfSegment } from '../../src/segments/save-segment.ts';
import { refusal, setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();

describe('property', () => {
  it('declare registers a key before its first value, and list shows it', async () => {
    const { publicId } = await cli.newApp('Declaring');
    expect(await cli.json('property', 'declare', publicId, 'plan', 'string')).toEqual({
      key: 'plan',
      type: 'string',
      removed: { users: 0, devices: 0 },
      segments: [],
    });
    const { properties } = await cli.json('property', 'list', publicId);
    expect(properties).toEqual([
      expect.objectContaining({ key: 'plan', type: 'string', users_count: 0, first_seen_at: null, samples: [] }),
    ]);
  });

  it("list shows how many profiles have a value, the key's slot and whether an index serves it", async () => {
    const { publicId, id } = await cli.newApp('Listing');
    await cli.run('property', 'declare', publicId, 'plan', 'string');
    await cli.run('property', 'declare', publicId, 'far', 'string');
    await cli.sql`UPDATE properties SET slot = NULL WHERE app_id = ${id} AND key = 'far'`;
    const [plan] = await cli.sql`SELECT id FROM properties WHERE app_id = ${id} AND key = 'plan'`;
    await cli.sql`
      INSERT INTO users (app_id, external_id, id, properties)
      VALUES (${id}, 'u-1', gen_random_uuid(), jsonb_build_object(${String(plan?.['id'])}::text, 'pro'))`;
    await cli.sql`CREATE INDEX audience_by_text_01 ON audience (app_id, text_01) WHERE text_01 IS NOT NULL`;
    expect((await cli.json('property', 'list', publicId)).properties).toMatchObject([
      { key: 'far', slot: null, indexed: false, users_count: 0 },
      { key: 'plan', slot: 'text_01', indexed: true, users_count: 1 },
    ]);
    const { stdout } = await cli.run('property', 'list', publicId);
    expect(stdout).toMatch(/plan +string +1 +0 +text_01 +yes +never/);
  });

  it('change and delete name the segments that use the key', async () => {
    const { publicId, id } = await cli.newApp('Changing');
    await cli.run('property', 'declare', publicId, 'plan', 'string');
    const filter = { not: { and: [{ field: 'properties.plan', op: 'eq', value: 'pro' }] } };
    await createSegment(cli, id, fieldsOfSegment({ name: 'Others', description: null, filter }));
    const changed = await cli.run('property', 'change', publicId, 'plan', 'number');
    expect(changed).toMatchObject({ status: 0, stdout: expect.stringContaining('Segments that use it: Others.') });
    expect((await cli.json('property', 'delete', publicId, 'plan')).segments).toEqual(['Others']);
    expect((await cli.json('property', 'list', publicId)).properties).toEqual([]);
  });

  it('names a few of many segments in text, and all of them in JSON', async () => {
    const { publicId, id } = await cli.newApp('Many');
    await cli.run('property', 'declare', publicId, 'plan', 'string');
    await cli.sql`
      INSERT INTO segments (app_id, id, name, filter, fields, created_at, updated_at)
      SELECT ${id}, md5(${id}::text || n)::uuid, 'segment ' || lpad(n::text, 2, '0'), '{"field":"properties.plan","op":"exists"}',
        '{properties.plan}', now(), now() FROM generate_series(1, 33) n`;
    const changed = await cli.run('property', 'change', publicId, 'plan', 'number');
    expect(changed.stdout).toContain('segment 01, segment 02, ');
    expect(changed.stdout).toContain('segment 20 and 13 more.');
    expect(changed.stdout).not.toContain('segment 21');
    expect((await cli.json('property', 'delete', publicId, 'plan')).segments).toHaveLength(33);
  });

  it.concurrent.each([
    ['a type that there is not', ['declare', 'Refusing', 'a', 'date'], /no type 'date'; there are string, number/],
    ['a key that is none', ['declare', 'Refusing', 'a.b', 'string'], /begins with a letter/],
    ['a change of an unknown key', ['change', 'Refusing', 'gone', 'string'], /has no property 'gone'/],
    ['a deletion of an unknown key', ['delete', 'Refusing', 'gone'], /has no property 'gone'/],
    ['an unknown app', ['list', 'Nobody'], /No app has the id or the name 'Nobody'/],
  ])('refuses %s', async (_what, parameters, line) => {
    await refusing;
    expect(await cli.run('property', ...parameters)).toMatchObject(refusal(line));
  });

  it('refuses to declare a known key, and to change a key to the type it has', async () => {
    const { publicId } = await cli.newApp('Known');
    await cli.run('property', 'declare', publicId, 'plan', 'string');
    expect(await cli.run('property', 'declare', publicId, 'plan', 'number')).toMatchObject(
      refusal(/has a property 'plan' already: it is a string/),
    );
    expect(await cli.run('property', 'change', publicId, 'plan', 'string')).toMatchObject(
      refusal(/is a string already/),
    );
  });
});

const refusing = cli.newApp('Refusing');
