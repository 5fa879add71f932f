// The details of a push: each check's verdict with its source, the payload, the token, the request
// and the answer.
import { code, fill, h, icon } from './dom.js';

/** The sources of shared checks for requests to phones. */
const askedBy = { apns: 'APNs request', fcm: 'FCM v1', oauth: 'OAuth' };
const shared = ['endpoint', 'method', 'authorization', 'size', 'payload'];

/** The title of each check, and its source. */
export const checkTitles = {
  endpoint: ['Endpoint', 'RFC 8030 7.3'],
  method: ['Method', 'RFC 8030 5'],
  authorization: ['Authorization', 'RFC 8292 3'],
  vapid_key: ['VAPID key', 'RFC 8292 4.2'],
  vapid_signature: ['VAPID signature', 'RFC 8292 2'],
  vapid_audience: ['VAPID aud', 'RFC 8292 2'],
  vapid_expiry: ['VAPID exp', 'RFC 8292 2'],
  vapid_subject: ['VAPID sub', 'RFC 8292 2.1'],
  content_length: ['Content-Length', 'WNS'],
  size: ['Size', 'RFC 8030 7.2'],
  ttl: ['TTL', 'RFC 8030 5.2'],
  urgency: ['Urgency', 'RFC 8030 5.3'],
  topic: ['Topic', 'RFC 8030 5.4'],
  content_encoding: ['Content-Encoding', 'RFC 8291 4'],
  content_type: ['Content-Type', 'RFC 8030 5'],
  cache_policy: ['X-WNS-Cache-Policy', 'WNS'],
  keys_differ: ['Keys differ', 'RFC 8292 3.2'],
  decryption: ['Decryption', 'RFC 8291 3'],
  payload: ['Payload', 'device'],
  team_key: ['Signing key', 'APNs token'],
  token_signature: ['Token signature', 'APNs token'],
  token_age: ['Token iat', 'APNs token'],
  token_updates: ['Token updates', 'APNs connection'],
  duplicate_headers: ['Headers', 'APNs request'],
  apns_id: ['apns-id', 'APNs request'],
  expiration: ['apns-expiration', 'APNs request'],
  push_type: ['apns-push-type', 'APNs request'],
  priority: ['apns-priority', 'APNs request'],
  collapse_id: ['apns-collapse-id', 'APNs request'],
  apns_topic: ['apns-topic', 'APNs request'],
  device: ['Device token', 'device'],
  access_token: ['Access token', 'Google API'],
  project: ['Project', 'Google IAM'],
  message: ['Message', 'FCM v1'],
  data: ['Data', 'FCM v1'],
  values: ['Values', 'FCM v1'],
  grant: ['Grant', 'RFC 7523 2.1'],
  assertion: ['Assertion', 'RFC 7523 3'],
  assertion_claims: ['Claims', 'RFC 7523 3'],
};

const verdictWords = {
  pass: ['check', 'passed'],
  warn: ['alert', 'warning'],
  fail: ['x', 'failed'],
  skip: ['minus', 'not applicable'],
};

/** The summary shows the verdicts; the rest is made when somebody opens it. */
export function details(entry, isOpen) {
  const count = (verdict) => entry.checks.filter((check) => check.verdict === verdict).length;
  const verdicts = [
    h('span', {}, `${count('pass')} checks passed`),
    count('warn') === 0
      ? null
      : h('span', { 'data-tone': 'warn' }, `${count('warn')} ${count('warn') === 1 ? 'warning' : 'warnings'}`),
    count('fail') === 0 ? null : h('span', { 'data-tone': 'bad' }, `${count('fail')} failed`),
  ];
  const body = h('div', { class: 'inside' });
  const element = h(
    'details',
    {
      open: isOpen,
      ontoggle: () => {
        if (element.open && body.childElementCount === 0) fill(body, sections(entry));
      },
    },
    h('summary', {}, icon('chevron'), h('span', {}, 'Request and answer'), h('span', { class: 'verdicts' }, verdicts)),
    body,
  );
  if (isOpen) fill(body, sections(entry));
  return element;
}

function sections(entry) {
  const { request, answer, vapid, payload } = entry;
  const isEncrypted = entry.service === 'webpush';
  const head = [
    `${request.method} ${request.path} ${request.protocol === 'h2' ? 'HTTP/2' : 'HTTP/1.1'}`,
    `host: ${request.authority}`,
    ...headerLines(request.headers),
  ].join('\n');
  const json = payload?.json ?? null;
  return [
    section('Checks', checkTable(entry)),
    payload === null
      ? section('Payload', h('p', { class: 'note' }, withoutPayload(entry)))
      : section('Payload', code(json === null ? payload.text : JSON.stringify(json, null, 2), 'the payload')),
    vapid === null ? null : section('VAPID token', code(describeToken(vapid), 'the decoded token')),
    entry.provider_token === null
      ? null
      : section(tokenTitles[entry.service], code(describeProviderToken(entry.provider_token), 'the decoded token')),
    section(
      'Request',
      code(head, 'the request'),
      request.body_bytes === 0
        ? null
        : h(
            'details',
            { class: 'body' },
            h(
              'summary',
              {},
              icon('chevron'),
              h('span', {}, `Body, ${request.body_bytes} bytes${isEncrypted ? ', encrypted' : ''}`),
            ),
            code(
              isEncrypted ? request.body : decodeBody(request.body),
              isEncrypted ? 'the body in base64url' : 'the body',
            ),
          ),
    ),
    section(
      'Answer',
      answer === null
        ? h('p', { class: 'note' }, 'None was given.')
        : code(
            [
              `${answer.status}`,
              ...headerLines(answer.headers),
              ...(answer.body === '' ? [] : ['', answer.body.slice(0, 4000)]),
            ].join('\n'),
            'the answer',
          ),
    ),
  ];
}

function section(title, ...content) {
  return h('section', {}, h('h3', {}, title), content);
}

const tokenTitles = { apns: 'Provider token', fcm: 'Access token', oauth: 'Assertion' };

function withoutPayload({ service, request }) {
  if (request.body_bytes === 0) return 'None was sent.';
  return service === 'webpush' ? 'It could not be opened.' : 'It was not looked at.';
}

/** The request's body as text. */
function decodeBody(base64url) {
  const octets = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'));
  return new TextDecoder().decode(Uint8Array.from(octets, (octet) => octet.charCodeAt(0)));
}

function checkTable({ checks, service }) {
  return h(
    'table',
    { class: 'checks' },
    h(
      'thead',
      { class: 'hidden-text' },
      h(
        'tr',
        {},
        ['Verdict', 'Check', 'Found', 'Where it is asked'].map((name) => h('th', { scope: 'col' }, name)),
      ),
    ),
    h(
      'tbody',
      {},
      checks.map(({ name, verdict, detail }) => {
        const [symbol, word] = verdictWords[verdict];
        const [title, source] = checkTitles[name];
        return h(
          'tr',
          { 'data-verdict': verdict },
          h('td', {}, icon(symbol), h('span', { class: 'hidden-text' }, word)),
          h('th', { scope: 'row' }, title),
          h('td', { class: 'detail' }, detail),
          h('td', { class: 'source' }, shared.includes(name) ? (askedBy[service] ?? source) : source),
        );
      }),
    ),
  );
}

function headerLines(headers) {
  return Object.entries(headers).map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(', ') : value}`);
}

function describeToken({ header, claims, key }) {
  const expires = typeof claims.exp === 'number' ? `\n\nexp is ${new Date(claims.exp * 1000).toISOString()}` : '';
  return `${JSON.stringify(header)}\n${JSON.stringify(claims, null, 2)}\n\nk ${key}${expires}`;
}

function describeProviderToken({ header, claims, holder }) {
  const at = (name) =>
    typeof claims[name] === 'number' ? `${name} is ${new Date(claims[name] * 1000).toISOString()}` : null;
  const head = Object.keys(header).length === 0 ? [] : [JSON.stringify(header)];
  const times = [at('iat'), at('exp')].filter((each) => each !== null);
  return [...head, JSON.stringify(claims, null, 2), '', `of ${holder}`, ...times].join('\n');
}
