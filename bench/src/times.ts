// Measures the work `times`: whether the time of a refusal tells a stranger more than its words do.
// Both questions of a pair are asked in turns, one at a time, so that the machine treats them alike.
import { randomFillSync } from 'node:crypto';
import { Agent, request } from 'node:http';
import { median, requireProc, rounded } from '../../rig/src/measure.ts';
import { openDatabase, readPostgresVersion, startService } from '../../rig/src/service.ts';
import { progress, RunError, type Workbench } from '../../rig/src/workbench.ts';
import { keyPrefixes, mintKey } from '../../server/src/apps/key.ts';
import { base62Decode, encodeId, mintUuid } from '../../server/src/ground/ids.ts';
import { callForJson } from './call-api.ts';
import { watchOthers } from './costs.ts';
import { completeResult, type PairOfTimes, type Result, type TimesMeasured } from './results.ts';

const samples = { full: 10_000, quick: 200 };
/** Questions of each kind that are asked first and do not count: code and plans are made then. */
const warmUp = 500;
/** First bytes of a key that a stranger may have seen: the 12 characters that lists show. */
const bytesSeen = 3;
/** The random part of a key: bytes, and their digits (contract 3.3). */
const keyBytes = 32;
const keyDigits = 43;

interface AppKeys {
  readonly server_key: string;
}

interface Question {
  readonly path: string;
  readonly key: string;
  /** The status that both questions of a pair are answered with. */
  readonly status: number;
}

interface Pair {
  readonly name: string;
  /** The largest accepted difference of the medians, as a share. */
  readonly wanted: number;
  readonly known: () => Question;
  readonly random: () => Question;
}

export async function measureTimes(
  workbench: Workbench,
  { isQuick }: { readonly isQuick: boolean },
): Promise<Result<TimesMeasured>> {
  await requireProc();
  const count = isQuick ? samples.quick : samples.full;
  // Each question names another client address. Otherwise the limits by address would answer.
  const service = await startService(workbench, await workbench.makeDirectory('data'), {
    environment: { TRUSTED_PROXIES: '127.0.0.1/32' },
  });
  const make = (name: string) => service.run<AppKeys>('app', 'create', name, '--plan', 'unlimited');
  const [mine, other] = [await make('Mine'), await make('Other')];
  const { id: foreign } = await callForJson<{ id: string }>({
    method: 'POST',
    url: `${service.url}/v1/messages`,
    key: other.server_key,
    body: {
      audience: { all: true },
      content: { title: 'Sale' },
      send_at: new Date(Date.now() + 86_400_000).toISOString(),
    },
  });

  const ask = createAsker(service.url);
  const countOthers = await watchOthers();
  const pairs: PairOfTimes[] = [];
  for (const pair of pairsOf(mine.server_key, foreign)) {
    const known: number[] = [];
    const random: number[] = [];
    for (let i = 0; i < warmUp + count; i++) {
      const msKnown = await ask(pair.known());
      const msRandom = await ask(pair.random());
      if (i < warmUp) continue;
      known.push(msKnown);
      random.push(msRandom);
    }
    const [msKnown, msRandom] = [median(known), median(random)];
    progress(`${pair.name}: ${count} of each`);
    pairs.push({
      name: pair.name,
      ms_p50_known: rounded(msKnown),
      ms_p50_random: rounded(msRandom),
      difference: rounded(Math.abs(msKnown / msRandom - 1)),
      wanted: pair.wanted,
    });
  }
  const foreignCores = await countOthers();
  const sql = await openDatabase(workbench, service);
  return completeResult(
    { work: 'times', params: { samples: count, quick: isQuick }, ours: { pairs, foreign_cores: foreignCores } },
    await readPostgresVersion(sql),
  );
}

function pairsOf(key: string, foreign: string): Pair[] {
  const message = (id: string): Question => ({ path: `/v1/messages/${id}`, key, status: 404 });
  const config = (unknown: string): Question => ({ path: '/v1/config', key: unknown, status: 401 });
  const randomId = (): string => encodeId('msg', mintUuid(Date.now()));
  return [
    {
      name: 'a key that begins like one that exists (R-41)',
      wanted: 0.05,
      known: () => config(likeKey(key)),
      random: () => config(mintKey('server').text),
    },
    {
      name: "another app's message (R-60)",
      wanted: 0.1,
      known: () => message(foreign),
      random: () => message(randomId()),
    },
  ];
}

/** A well-formed key with the beginning of one that exists, which lists and logs may show. */
function likeKey(key: string): string {
  const begin = keyPrefixes.server.length;
  const bytes = base62Decode(key.slice(begin, begin + keyDigits), keyBytes);
  if (!bytes) throw new RunError('the service made a key that is none');
  randomFillSync(bytes, bytesSeen);
  return mintKey('server', bytes).text;
}

/** Asks over one kept connection, each time as another client, and resolves with the milliseconds. */
function createAsker(base: string): (question: Question) => Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let asked = 0;
  return ({ path, key, status }) => {
    const number = asked++;
    const address = `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
    const headers = { authorization: `Bearer ${key}`, 'x-forwarded-for': address };
    return new Promise((resolve, reject) => {
      const from = performance.now();
      const sent = request(base + path, { agent, headers }, (response) => {
        response.resume();
        response.on('error', reject);
        response.on('end', () => {
          if (response.statusCode === status) resolve(performance.now() - from);
          else reject(new RunError(`${path} was answered with ${response.statusCode} in place of ${status}`));
        });
      });
      sent.on('error', reject);
      sent.end();
    });
  };
}
