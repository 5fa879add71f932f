// Measures the work `times`: whether the time of a refusal tells a stranger more than its words do.
// Both requests of a pair are made in turns, one at a time, so that the machine treats them alike.
import { randomFillSync } from 'node:crypto';
import { Agent, request } from 'node:http';
import type { Sql } from '@carillon/postgres';
import { median } from '../../rig/src/measure.ts';
import { progress, RunError, type Workbench } from '../../rig/src/workbench.ts';
import { base62Decode, encodeId, mintUuid } from '../../server/src/ground/values/ids.ts';
import { createPasswords } from '../../server/src/teams/accounts/password.ts';
import { keyPrefixes, mintKey } from '../../server/src/teams/apps/key.ts';
import { callForJson } from './call-api.ts';
import { watchOthers } from './costs.ts';
import { type Figure, figure } from './figures.ts';
import { createApp } from './own-app.ts';
import { startOwnService } from './own-service.ts';
import type { Measured, RunOptions } from './results.ts';

/** Requests of each kind. A sign-in hashes a password, so R-52 requires fewer. */
const samples = {
  full: { refusals: 10_000, signIns: 200 },
  quick: { refusals: 50, signIns: 4 },
};
/** Requests of each kind that come first and do not count, because code and plans are made then. */
const warmUps = {
  full: { refusals: 500, signIns: 20 },
  quick: { refusals: 20, signIns: 2 },
};
/** Failures of one account that are answered without a wait (R-52). */
const failuresFree = 9;
/** First bytes of a key that a stranger may have seen: the 12 characters that lists show. */
const bytesSeen = 3;
/** The random part of a key: bytes, and their digits (contract 3.3). */
const keyBytes = 32;
const keyDigits = 43;

interface Question {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body of a POST. Undefined: a GET. */
  readonly body?: unknown;
  /** The status of both answers of a pair. */
  readonly status: number;
}

interface Pair {
  readonly name: string;
  /** The largest accepted difference of the medians, as a share. */
  readonly wanted: number;
  readonly asks: keyof (typeof samples)['full'];
  readonly known: (turn: number) => Question;
  readonly random: (turn: number) => Question;
}

export async function measureTimes(workbench: Workbench, { isQuick }: RunOptions): Promise<Measured> {
  const size = isQuick ? 'quick' : 'full';
  const [counts, warmUp] = [samples[size], warmUps[size]];
  // Each request names another client address. Otherwise the limits by address would answer. The
  // console admits remote people only over TLS, which the public URL promises.
  const { service, sql, postgres } = await startOwnService(workbench, {
    environment: { TRUSTED_PROXIES: '127.0.0.1/32', PUBLIC_URL: 'https://push.bench.example' },
  });
  const [mine, other] = [await createApp(service, 'Mine'), await createApp(service, 'Other')];
  const { id: foreign } = await callForJson<{ id: string }>({
    method: 'POST',
    url: `${service.url}/v1/messages`,
    key: other.serverKey,
    body: {
      audience: { all: true },
      content: { title: 'Sale' },
      send_at: new Date(Date.now() + 86_400_000).toISOString(),
    },
  });

  await makeAccounts(sql, Math.ceil((warmUp.signIns + counts.signIns) / failuresFree));
  const ask = createAsker(service.url);
  const countOthers = await watchOthers();
  const figures: Figure[] = [];
  for (const { name, wanted, asks, ...pair } of pairsOf(mine.serverKey, foreign)) {
    const [count, first] = [counts[asks], warmUp[asks]];
    const known: number[] = [];
    const random: number[] = [];
    for (let turn = 0; turn < first + count; turn++) {
      const msKnown = await ask(pair.known(turn));
      const msRandom = await ask(pair.random(turn));
      if (turn < first) continue;
      known.push(msKnown);
      random.push(msRandom);
    }
    const [msKnown, msRandom] = [median(known), median(random)];
    progress(`${name}: ${count} of each`);
    figures.push(
      figure(`${name}: difference`, Math.abs(msKnown / msRandom - 1), 'of 1', { atMost: wanted }),
      figure(`${name}: known`, msKnown, 'ms', { beside: { side: 'random', value: msRandom } }),
    );
  }
  const params = { refusals: counts.refusals, sign_ins: counts.signIns };
  return { params, figures, foreignCores: await countOthers(), postgres };
}

function pairsOf(key: string, foreign: string): Pair[] {
  const withKey = (text: string) => ({ authorization: `Bearer ${text}` });
  const message = (id: string): Question => ({ path: `/v1/messages/${id}`, headers: withKey(key), status: 404 });
  const config = (unknown: string): Question => ({ path: '/v1/config', headers: withKey(unknown), status: 401 });
  const randomId = (): string => encodeId('msg', mintUuid(Date.now()));
  return [
    {
      name: 'a key that begins like one that exists (R-41)',
      wanted: 0.05,
      asks: 'refusals',
      known: () => config(likeKey(key)),
      random: () => config(mintKey('server').text),
    },
    {
      name: "another app's message (R-60)",
      wanted: 0.1,
      asks: 'refusals',
      known: () => message(foreign),
      random: () => message(randomId()),
    },
    {
      name: 'a wrong password for an account that exists (R-52)',
      wanted: 0.05,
      asks: 'signIns',
      known: (turn) => signIn(accountEmail(Math.floor(turn / failuresFree))),
      random: (turn) => signIn(`nobody-${Math.floor(turn / failuresFree)}@bench.example`),
    },
  ];
}

/** A sign-in with a wrong password, as the console's page makes it. */
function signIn(email: string): Question {
  const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };
  return { path: '/console/api/login', headers, body: { email, password: 'not the password' }, status: 401 };
}

function accountEmail(number: number): string {
  return `person-${number}@bench.example`;
}

/**
 * Stores accounts with one password. It writes rows directly, because an account is otherwise made
 * by a link of its own.
 */
async function makeAccounts(sql: Sql, count: number): Promise<void> {
  const hash = await createPasswords().hash('the password of all of them');
  for (let number = 0; number < count; number++) {
    const id = mintUuid(Date.now());
    await sql`INSERT INTO accounts (id, email, name) VALUES (${id}, ${accountEmail(number)}, ${`Person ${number}`})`;
    await sql`
      INSERT INTO account_logins (id, account_id, provider, subject, password_hash)
      VALUES (${mintUuid(Date.now())}, ${id}, 'credential', ${id}, ${hash})`;
  }
}

/** A well-formed key with the beginning of one that exists, which lists and logs may show. */
function likeKey(key: string): string {
  const begin = keyPrefixes.server.length;
  const bytes = base62Decode(key.slice(begin, begin + keyDigits), keyBytes);
  if (!bytes) throw new RunError('the service made a key that is none');
  randomFillSync(bytes, bytesSeen);
  return mintKey('server', bytes).text;
}

/**
 * Makes requests over one kept connection, each as another client, and resolves with the
 * milliseconds.
 */
function createAsker(base: string): (question: Question) => Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let asked = 0;
  return ({ path, headers: own, body, status }) => {
    const number = asked++;
    const address = `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
    const headers = { ...own, 'x-forwarded-for': address };
    const method = body === undefined ? 'GET' : 'POST';
    return new Promise((resolve, reject) => {
      const from = performance.now();
      const sent = request(base + path, { agent, method, headers }, (response) => {
        response.resume();
        response.on('error', reject);
        response.on('end', () => {
          if (response.statusCode === status) resolve(performance.now() - from);
          else reject(new RunError(`${path} was answered with ${response.statusCode} in place of ${status}`));
        });
      });
      sent.on('error', reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  };
}
