// A value that the database cannot store must fail its own row, and not the import.
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { loadTimeZones } from '../../src/ground/database/load-time-zones.ts';
import { noExceptions } from '../../src/ground/outbound/address-guard.ts';
import { CellTypes } from '../../src/people/imports/cells.ts';
import { detectFormat } from '../../src/people/imports/detect.ts';
import { importFile } from '../../src/people/imports/import-file.ts';
import { createJudge } from '../../src/people/imports/judge.ts';
import { RejectFile } from '../../src/people/imports/reject-file.ts';
import { setup } from '../setup.ts';

const t = await setup({ workers: false });

it.each([
  ['a file that can be read only once', null],
  ['a file with stored progress', Buffer.alloc(32, 7)],
])(
  'of %s, rows that the database refuses are rejected with a reason, and the other rows of the batch are stored',
  async (_what, fingerprint) => {
    const app = await t.newApp();
    const directory = await mkdtemp(join(tmpdir(), 'carillon-rejects-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const lines = Array.from({ length: 200 }, (_, i) => JSON.stringify({ platform: 'android', token: `token-${i}` }));
    const bytes = Buffer.from(lines.join('\n'));
    const format = detectFormat(bytes);
    const types = new CellTypes(new Map());
    const judge = createJudge({
      endpointRules: { pushHosts: [], exceptions: noExceptions, ownHosts: [] },
      timeZones: await loadTimeZones(t.sql),
      credentials: { ios: null, android: null, web: new Map(), webOtherwise: null },
      types,
    });
    const rejects = new RejectFile(join(directory, 'list.ndjson'), format);
    const done = await importFile(
      { sql: t.sql, clock: t.clock },
      {
        appId: app.id,
        fingerprint,
        format,
        types,
        rejects,
        bytes: (async function* () {
          yield bytes;
        })(),
        // No check before the database finds these.
        judge(given) {
          const row = judge(given);
          const isOdd = ['token-7', 'token-150'].includes(String(given.device?.['token']));
          if (!isOdd || !row.device) return row;
          return { ...row, device: { ...row.device, facts: { ...row.device.facts, locale: 'en\u0000' } } };
        },
        onProgress: () => undefined,
      },
    );
    expect(done).toMatchObject({
      counts: { devicesCreated: 198 },
      records: 200,
      rejected: 2,
      reasons: { 'The database cannot store it (22021).': 2 },
    });
    const listed = readFileSync(rejects.path, 'utf8').trim().split('\n');
    expect(listed.map((line) => JSON.parse(line).line)).toEqual([8, 151]);
    const [stored] = await t.sql`SELECT count(*) AS count FROM devices WHERE app_id = ${app.id}`;
    expect(stored?.['count']).toBe(198);
  },
);
