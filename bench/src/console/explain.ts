// How long the answer to "Why did they get nothing?" takes, for many people in turn.
import { RunError } from '../../../rig/src/workbench.ts';
import { decodeId } from '../../../server/src/ground/values/ids.ts';
import { callForJson } from '../call-api.ts';
import { type Figure, percentiles } from '../figures.ts';
import type { ConsoleWorld } from './world.ts';

const questions = 200;

export async function measureExplain(world: ConsoleWorld, messageId: string): Promise<Figure[]> {
  const { service, seeded } = world;
  const times: number[] = [];
  for (const externalId of await choosePeople(world)) {
    const url = `${service.url}/v1/explain?message_id=${messageId}&external_id=${encodeURIComponent(externalId)}`;
    const from = performance.now();
    await callForJson({ method: 'GET', url, key: seeded.serverKey });
    times.push(performance.now() - from);
  }
  return percentiles(`explain, ${times.length} requests`, times, [0.5, 0.95], { atMost: 20 });
}

/** Chooses people from the whole audience. Some of them got the message. */
async function choosePeople({ sql, seeded }: ConsoleWorld): Promise<string[]> {
  const appId = decodeId('app', seeded.id);
  if (appId === undefined) throw new RunError('the app has no id');
  const rows = await sql<{ externalId: string }[]>`
    SELECT external_id FROM audience
    WHERE app_id = ${appId} AND external_id IS NOT NULL
    ORDER BY md5(device_id::text) LIMIT ${questions}`;
  return rows.map(({ externalId }) => externalId);
}
