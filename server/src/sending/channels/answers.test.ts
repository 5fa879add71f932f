import { gzipSync } from 'node:zlib';
import type { HttpAnswer } from '@carillon/http2';
import { describe, expect, test } from 'vitest';
import type { VendorAnswer } from './answer-table.ts';
import { readAnswer as readApns } from './apns/answer.ts';
import { apnsAnswers } from './apns/answers.ts';
import { actionOf } from './error-code.ts';
import { readAnswer as readFcm } from './fcm/answer.ts';
import { fcmErrors, googleErrors } from './fcm/answers.ts';
import { toldReason } from './told-reason.ts';
import { readAnswer as readWebPush } from './webpush/answer.ts';
import { statusAnswers, vendorAnswers } from './webpush/answers.ts';

const nowMs = Date.parse('2026-11-21T10:15:30Z');

const hosts = {
  google: 'fcm.googleapis.com',
  mozilla: 'updates.push.services.mozilla.com',
  apple: 'web.push.apple.com',
  microsoft: 'wns2-test.notify.windows.com',
  other: 'push.example.org',
} as const;

type Read = (answer: HttpAnswer) => ReturnType<typeof readApns>;
const readers: Readonly<Record<string, Read>> = {
  apns: (answer) => readApns(answer, nowMs),
  fcm: (answer) => readFcm(answer, nowMs),
  ...Object.fromEntries(
    Object.entries(hosts).map(([vendor, host]) => [vendor, (answer: HttpAnswer) => readWebPush(host, answer, nowMs)]),
  ),
};

type Given = Pick<HttpAnswer, 'body'> & Partial<Pick<HttpAnswer, 'headers' | 'truncated'>>;

function read(sender: string, status: number, { body, headers = {}, truncated = false }: Given) {
  const reader = readers[sender];
  if (!reader) throw new Error(sender);
  return reader({ status, headers, body, truncated, latencyMs: 12 });
}

const codeOf = (sender: string, status: number, given: Given) => {
  const outcome = read(sender, status, given);
  return outcome.kind === 'sent' ? 'sent' : outcome.errorCode;
};

const fcmBody = (errorCode: string | null, status: string, message = 'Said.', fields: readonly string[] = []) => {
  const details = [
    ...(errorCode ? [{ '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode }] : []),
    { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: fields.map((field) => ({ field })) },
  ];
  return JSON.stringify({ error: { code: 400, message, status, details } });
};

/** The answer that a row describes, as its vendor gives it. */
function answerOf(sender: string, { word, example }: VendorAnswer): Given {
  if (example !== undefined) return { body: example };
  if (word === undefined) return { body: null };
  if (sender === 'mozilla') return { body: JSON.stringify({ code: 400, errno: Number(word), message: 'Said.' }) };
  if (sender === 'microsoft') return { body: null, headers: { 'x-wns-status': word } };
  return { body: JSON.stringify({ reason: word }) };
}

const tables: readonly (readonly [sender: string, rows: readonly VendorAnswer[]])[] = [
  ['apns', apnsAnswers],
  ...Object.entries(vendorAnswers),
  ['google', statusAnswers],
  ['mozilla', statusAnswers],
  ['apple', statusAnswers],
  ['other', statusAnswers],
];

describe('each documented answer has its code', () => {
  const rows = tables.flatMap(([sender, table]) => table.map((row) => [sender, row] as const));

  test.each(rows)('%s %j', (sender, row) => {
    expect(codeOf(sender, row.status, answerOf(sender, row))).toBe(row.code);
    expect(row.source).toMatch(/^https:\/\/[a-z.-]+\/\S+$/);
  });

  // A reason keeps its meaning whatever status a proxy gave it. An errno may have no meaning with
  // another status.
  const worded = rows.filter(([, row]) => (row.word ?? row.text) !== undefined && !row.isOfStatus);
  test.each(worded)('%s %j, whatever the status', (sender, row) => {
    for (const status of [400, 404, 410, 418, 500]) {
      expect(codeOf(sender, status, answerOf(sender, row))).toBe(row.code);
    }
  });

  test.each(worded)('%s %j, with a byte order mark and in another letter case', (sender, row) => {
    const { body, headers } = answerOf(sender, row);
    const shout = (text: string) => text.replaceAll(/(?<=": ?"?)[A-Za-z]+/g, (said) => said.toUpperCase());
    for (const changed of [`\uFEFF${body}`, ` \r\n${body}\n`, shout(body ?? '')]) {
      if (body === null) continue;
      expect(codeOf(sender, row.status, { body: changed })).toBe(row.code);
      const outcome = read(sender, row.status, { body: changed });
      expect(outcome.provider && toldReason(outcome.provider)).toBe(outcome.kind === 'refused' && outcome.reason);
    }
    const loud = Object.fromEntries(
      Object.entries(headers ?? {}).map(([name, value]) => [name, String(value).toUpperCase()]),
    );
    if (body === null) expect(codeOf(sender, row.status, { body, headers: loud })).toBe(row.code);
  });

  test.each(fcmErrors.filter(({ word }) => !word?.startsWith('INVALID_ARGUMENT')))(
    'fcm %j',
    ({ status, word = '', code }) => {
      for (const said of [word, word.toLowerCase()]) {
        for (const by of [status, 400, 404, 418]) {
          expect(codeOf('fcm', by, { body: `\uFEFF${fcmBody(said, 'NOT_FOUND')}` })).toBe(code);
        }
      }
    },
  );

  test.each(googleErrors)('fcm without a code of its own: %j', ({ status, word, code }) => {
    expect(codeOf('fcm', status, { body: word === undefined ? null : fcmBody(null, word) })).toBe(code);
  });
});

/** Answers that no vendor documents as a word about a token. */
const unspecific: readonly (readonly [what: string, given: Given])[] = [
  ['nothing', { body: null }],
  ['an empty text', { body: '' }],
  ['the page of a proxy', { body: '<html><head><title>404 Not Found</title></head><body>nginx</body></html>' }],
  ['the page of a captive portal', { body: '<!DOCTYPE html><TITLE>Sign in</TITLE><p>Device unregistered' }],
  ['a title with attributes', { body: '<html><title lang="en" dir=ltr>Gone: Unregistered</title></html>' }],
  ['the XML of a gateway', { body: '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>' }],
  ['one surrogate and a NUL', { body: '\0 Unregistered \ud800' }],
  ['brackets without an end', { body: '{"reason":'.repeat(400), truncated: true }],
  ["Google's error in a list", { body: `[${fcmBody('UNREGISTERED', 'NOT_FOUND')}]` }],
  ['a page under the wrong type', { body: '<html>Gone</html>', headers: { 'content-type': 'application/json' } }],
  ['an unknown reason', { body: '{"reason":"SomethingNew"}' }],
  ['a reason that is a property of every object', { body: '{"reason":"__proto__"}' }],
  ['a reason of another type', { body: '{"reason":{"BadDeviceToken":1}}' }],
  ['a reason cut at the limit', { body: `{"x":"${'y'.repeat(4_060)}","reason":"Unregist`, truncated: true }],
  ['a reason cut in the middle', { body: '{"reason":"BadDeviceTo', truncated: true }],
  ['a sentence that mentions a reason', { body: 'The upstream said Unregistered or BadDeviceToken.' }],
  ['an unknown errno', { body: '{"code":410,"errno":555}' }],
  ['a number as the whole text', { body: '106' }],
  ['a number as a title', { body: '<html><title>103</title></html>' }],
  ['a number in a header', { body: null, headers: { 'x-wns-status': '105' } }],
  ['a number as a reason', { body: '{"reason":"102"}' }],
  ["an errno of a gateway's own system", { body: '{"errno":103,"code":"ECONNABORTED","syscall":"read"}' }],
  ['the same in another language', { body: '{"errno":106,"strerror":"Transport endpoint is already connected"}' }],
  ['an errno that is text', { body: '{"code":410,"errno":"106"}' }],
  ['a list', { body: '[{"reason":"Unregistered"}]' }],
  ['null', { body: 'null' }],
  ['bytes of gzip', { body: gzipSync('{"reason":"Unregistered"}').toString('utf8') }],
  ['NOT_FOUND of a wrong project', { body: fcmBody(null, 'NOT_FOUND', 'Requested entity was not found.') }],
  ['UNREGISTERED outside the details', { body: '{"error":{"status":"UNREGISTERED","message":"UNREGISTERED"}}' }],
  [
    "UNREGISTERED in a detail that is not FCM's",
    { body: '{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","errorCode":"UNREGISTERED"}]}}' },
  ],
  ['a code of FCM that nobody knows', { body: fcmBody('TOKEN_NAPPING', 'NOT_FOUND') }],
  [
    'a fault of the content',
    {
      body: fcmBody('INVALID_ARGUMENT', 'INVALID_ARGUMENT', 'Invalid registration token color', [
        'message.android.notification.color',
      ]),
    },
  ],
  [
    'a fault of the data',
    { body: fcmBody('INVALID_ARGUMENT', 'INVALID_ARGUMENT', 'data is bound to the registration token') },
  ],
  ['a fault of a topic', { body: fcmBody('INVALID_ARGUMENT', 'INVALID_ARGUMENT', 'Invalid topic', ['message.topic']) }],
];

const statuses = [300, 301, 400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 411, 413, 415, 418, 422, 425, 429, 431];
const others = [451, 499, 500, 501, 502, 503, 504, 507, 511, 520, 599];

describe('nothing irreversible follows from an unspecific answer', () => {
  test.each(unspecific)('%s', (_what, given) => {
    for (const sender of Object.keys(readers)) {
      for (const status of [...statuses, ...others]) {
        const isWebGone = sender in hosts && [404, 410].includes(status);
        const outcome = read(sender, status, given);
        if (outcome.kind === 'sent') throw new Error(`${status} is no success`);
        const { errorCode: code, provider, reason } = outcome;
        expect(provider && toldReason(provider)).toBe(reason);
        const action = isWebGone ? 'retire' : 'keep';
        expect([sender, status, actionOf[code]]).toEqual([sender, status, action]);
      }
    }
  });
});

describe('key and subscription of different senders are a mismatch of one subscription, in every form', () => {
  test.each([
    'the key in the authorization header does not correspond to the sender ID used to subscribe this user. Please ensure you are using the correct sender ID and server Key from the Firebase console.\n',
    'The Key In The Authorization Header Does Not Correspond To The Sender Id',
    'the VAPID credentials in the authorization header do not correspond to the credentials used to create the subscriptions.\n',
    'MismatchSenderId',
    'Error=MismatchSenderId',
    '<HTML>\n<HEAD>\n<TITLE>MismatchSenderId</TITLE>\n</HEAD>\n<BODY><H1>MismatchSenderId</H1></BODY></HTML>',
    '<HTML>\n<HEAD>\n<TITLE>UnauthorizedRegistration</TITLE>\n</HEAD>\n<BODY><H2>Error 400</H2></BODY></HTML>',
    '<html><head><title>Unauthorized Registration</title></head></html>',
    'UnauthorizedRegistration',
    fcmBody('SENDER_ID_MISMATCH', 'PERMISSION_DENIED', 'SenderId mismatch'),
    '{"error":{"code":403,"message":"the key does not correspond to the sender ID"}}',
  ])('%j', (body) => {
    for (const status of [400, 401, 403, 404, 410]) {
      for (const sender of ['google', 'other']) expect(codeOf(sender, status, { body })).toBe('credential_mismatch');
    }
  });

  test.each([
    'invalid JWT provided',
    'authorization header must be specified.',
    '<title>Error 403 (Forbidden)!!1</title>',
  ])('%j is none', (body) => {
    expect(codeOf('google', 403, { body })).toBe('auth_failed');
  });
});

test('R-14 the headers in which WNS explains itself are kept, and its reason is read from them again', () => {
  const headers = {
    'x-wns-error-description': 'Channel expired',
    'x-wns-status': 'dropped',
    'x-wns-notificationstatus': 'dropped',
    'x-wns-deviceconnectionstatus': 'disconnected',
    'x-wns-debug-trace': 'DB3WNS4011534',
    'ms-cv': '0A1B.0',
  };
  const outcome = read('microsoft', 410, { body: null, headers: { ...headers, 'x-wns-msg-id': '7A', server: 'x' } });
  expect(outcome).toMatchObject({ errorCode: 'unregistered', reason: 'Channel expired', provider: { headers } });
  expect(outcome.provider && toldReason(outcome.provider)).toBe('Channel expired');
});
