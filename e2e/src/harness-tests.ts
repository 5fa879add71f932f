// Tests the harness itself, without a browser: nothing survives a run, failures are counted, and
// the push service refuses everything that Mozilla refuses. A harness that passes everything would
// look like success.

import { deepEqual, equal } from 'node:assert/strict';
import { fork } from 'node:child_process';
import { createECDH, createPrivateKey, randomBytes, sign } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { PushSubscription, VapidKeys } from 'web-push';
import { WebSocket } from 'ws';
import { Autopush } from './autopush.ts';
import { loadCertificate } from './certificate.ts';
import { untilDefined } from './deadline.ts';
import { IndependentSender } from './independent-sender.ts';
import type { KilledRunReport } from './killed-run.ts';
import { type Bench, defineSuite, runSuites, type Test, type TestContext } from './runner.ts';

export interface HarnessBench extends Bench {
  /** The directory where the inner runs of these tests save files. */
  artifactsDir: string;
}

const emptyBench: Bench = { saveArtifacts: async () => {}, stop: async () => {} };

async function runInnerSuites(bench: HarnessBench, failsWhenMissing: boolean) {
  const lines: string[] = [];
  const suites = [
    defineSuite({
      name: 'inner',
      missing: [],
      start: async () => emptyBench,
      tests: [
        { name: 'passes', run: async () => {} },
        { name: 'fails', run: async () => equal(1, 2) },
        { name: 'hangs', timeoutMs: 20, run: async () => await new Promise<never>(() => {}) },
        { name: 'leaves a mess', run: async (_, { defer }) => defer(() => equal('clean', 'dirty')) },
      ],
    }),
    defineSuite({
      name: 'cannot start',
      missing: [],
      start: async () => await Promise.reject(new Error('no')),
      tests: [{ name: 'is not run', run: async () => {} }],
    }),
    defineSuite({
      name: 'has no browser',
      missing: ['firefox-esr'],
      start: async () => emptyBench,
      tests: [{ name: 'is not run', run: async () => {} }],
    }),
  ];
  const tally = await runSuites(suites, {
    words: [],
    failsWhenMissing,
    artifactsDir: bench.artifactsDir,
    suitesAtOnce: 1,
    print: (line) => lines.push(line),
  });
  return { tally, lines };
}

/** Speaks to the push service as Firefox does, as far as a subscription needs. */
async function subscribeByHand(autopush: Autopush, key: string, context: TestContext): Promise<PushSubscription> {
  const socket = new WebSocket(autopush.socketUrl, 'push-notification');
  context.defer(() => socket.terminate());
  await once(socket, 'open');
  socket.send(JSON.stringify({ messageType: 'hello', use_webpush: true, broadcasts: {} }));
  socket.send(JSON.stringify({ messageType: 'register', channelID: 'by-hand', key }));
  const { endpoint } = await autopush.log.waitFor('register');
  const agent = createECDH('prime256v1');
  const p256dh = agent.generateKeys('base64url');
  return { endpoint, keys: { p256dh, auth: randomBytes(16).toString('base64url') } };
}

function authorize(keys: VapidKeys, claims: Record<string, unknown>): string {
  const point = Buffer.from(keys.publicKey, 'base64url');
  const [x, y] = [point.subarray(1, 33).toString('base64url'), point.subarray(33).toString('base64url')];
  const key = createPrivateKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', x, y, d: keys.privateKey } });
  const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const signed = `${encode({ typ: 'JWT', alg: 'ES256' })}.${encode(claims)}`;
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url');
  return `vapid t=${signed}.${signature}, k=${keys.publicKey}`;
}

interface RefusalCase {
  what: string;
  headers: Record<string, string | undefined>;
  answer: [status: number, errno: number];
}

function refusalCases(origin: string, keys: VapidKeys): RefusalCase[] {
  const hour = Math.floor(Date.now() / 1000) + 3600;
  const sub = 'mailto:ops@carillon.test';
  const vapid = (claims: Record<string, unknown>, by = keys) => ({ Authorization: authorize(by, claims) });
  const good = authorize(keys, { aud: origin, exp: hour, sub });
  return [
    { what: 'no TTL', headers: { TTL: undefined }, answer: [400, 111] },
    { what: 'a TTL in words', headers: { TTL: 'soon' }, answer: [400, 112] },
    { what: 'a negative TTL', headers: { TTL: '-1' }, answer: [400, 114] },
    { what: 'a Topic with a dot', headers: { Topic: 'news.today' }, answer: [400, 113] },
    { what: 'a Topic of 33 characters', headers: { Topic: 'x'.repeat(33) }, answer: [400, 113] },
    { what: 'an unknown Urgency', headers: { Urgency: 'now' }, answer: [400, 110] },
    { what: 'an old coding', headers: { 'Content-Encoding': 'aesgcm' }, answer: [400, 110] },
    { what: 'no coding', headers: { 'Content-Encoding': undefined }, answer: [400, 110] },
    { what: 'no signature', headers: { Authorization: undefined }, answer: [401, 109] },
    { what: 'another scheme', headers: { Authorization: good.replace('vapid t=', 'WebPush ') }, answer: [401, 109] },
    {
      what: 'the key of another',
      headers: vapid({ aud: origin, exp: hour, sub }, IndependentSender.newKeys()),
      answer: [401, 109],
    },
    {
      what: 'a changed signature',
      headers: {
        Authorization: good.replace(/\.(?<first>.)(?=[^.]*$)/, (_, first) => `.${first === 'A' ? 'B' : 'A'}`),
      },
      answer: [401, 109],
    },
    {
      what: 'an audience without the port',
      headers: vapid({ aud: 'https://localhost', exp: hour, sub }),
      answer: [401, 109],
    },
    { what: 'an audience with a path', headers: vapid({ aud: `${origin}/`, exp: hour, sub }), answer: [401, 109] },
    { what: 'no audience', headers: vapid({ exp: hour, sub }), answer: [401, 109] },
    { what: 'no end', headers: vapid({ aud: origin, sub }), answer: [401, 109] },
    { what: 'an end that has passed', headers: vapid({ aud: origin, exp: hour - 7200, sub }), answer: [401, 109] },
    { what: 'an end 25 hours ahead', headers: vapid({ aud: origin, exp: hour + 24 * 3600, sub }), answer: [401, 109] },
    {
      what: 'a subject that is no address',
      headers: vapid({ aud: origin, exp: hour, sub: 'ops' }),
      answer: [401, 109],
    },
  ];
}

export const harnessTests: readonly Test<HarnessBench>[] = [
  {
    name: 'a test that fails, hangs, leaves a mess or cannot start is counted as failed',
    async run(bench) {
      const { tally, lines } = await runInnerSuites(bench, false);
      deepEqual(tally, { passed: 1, failed: 4, skipped: 1 });
      const failed = lines.filter((line) => line.startsWith('FAIL')).map((line) => line.replace(/ \(.*$/, ''));
      deepEqual(failed, [
        'FAIL inner: fails',
        'FAIL inner: hangs',
        'FAIL inner: leaves a mess',
        'FAIL cannot start: is not run',
      ]);
    },
  },
  {
    name: 'a browser that is not installed is named and skipped, and fails the job meant for browsers',
    async run(bench) {
      const locally = await runInnerSuites(bench, false);
      equal(locally.lines.at(-1)?.startsWith('skipped: install firefox-esr'), true);
      const inJob = await runInnerSuites(bench, true);
      equal(inJob.lines.at(-1), 'FAIL has no browser: is not run (install firefox-esr)');
      equal(inJob.tally.failed, locally.tally.failed + 1);
    },
  },
  {
    name: 'a run that is killed leaves no process and no directory behind',
    async run() {
      const child = fork(fileURLToPath(new URL('killed-run.ts', import.meta.url)));
      const [report] = (await once(child, 'message')) as [KilledRunReport];
      equal(report.pids.length, 2);
      child.kill('SIGKILL');
      await untilDefined('everything of the killed run to be gone', () => {
        const isGone = !report.pids.some((pid) => existsSync(`/proc/${pid}`)) && !existsSync(report.dir);
        return isGone ? true : undefined;
      });
    },
  },
  {
    name: 'the push service refuses what Mozilla refuses, each with its errno',
    async run(_, context) {
      const certificate = loadCertificate();
      const autopush = await Autopush.start(certificate);
      context.defer(async () => await autopush.stop());
      const keys = IndependentSender.newKeys();
      const subscription = await subscribeByHand(autopush, keys.publicKey, context);
      const sender = new IndependentSender(certificate.cert, new Map());
      for (const { what, headers, answer } of refusalCases(autopush.origin, keys)) {
        const { status, body } = await sender.send(subscription, keys, 'refused', { headers });
        const { errno } = JSON.parse(body || '{}') as { errno?: number };
        deepEqual({ what, answer: [status, errno] }, { what, answer });
      }
      const unknown = { ...subscription, endpoint: `${subscription.endpoint}x` };
      equal((await sender.send(unknown, keys, 'nobody')).status, 404);
      equal((await sender.send(subscription, keys, 'accepted')).status, 201);
      equal(autopush.log.list('delivered').length, 1);
    },
  },
];
