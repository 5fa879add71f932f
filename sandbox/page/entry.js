// One push in the list: its result in a word, the notification as the person saw it, and the facts
// that need no opening.
import { fill, h, icon, time, webAddress } from './dom.js';
import { drawNotification, leftOut, lookOf, looks, vendors } from './notification.js';
import { checkTitles, details } from './request.js';

const states = {
  shown: ['Shown', 'good'],
  clicked: ['Clicked', 'good'],
  dismissed: ['Dismissed', 'plain'],
  replaced: ['Replaced by a later one', 'plain'],
};

/** The filter of the list that an entry belongs to. */
export function kindOf(entry) {
  if (entry.delivered) return 'seen';
  if (entry.answer !== null && entry.answer.status < 300 && (entry.service === 'oauth' || isDryRun(entry)))
    return 'other';
  return entry.answer !== null && entry.answer.status >= 300 ? 'refused' : 'lost';
}

/** Whether this was FCM's dry run: examined, and delivered to nobody. */
function isDryRun({ service, payload }) {
  return service === 'fcm' && (payload?.json?.validate_only ?? payload?.json?.validateOnly) === true;
}

/** The result of the push: a word, its tone, and a sentence when the word needs one. */
export function outcomeOf(entry) {
  const { answer, delivered, notification, fault, checks } = entry;
  const failed = checks.find(({ verdict }) => verdict === 'fail');
  const scripted = fault === null ? null : `Scripted by the fault ${fault}.`;
  if (answer === null) return { word: 'Not answered', tone: 'warn', sentence: scripted };
  if (answer.status >= 300) {
    const reason = failed === undefined ? null : `${checkTitles[failed.name][0]}: ${failed.detail}`;
    return { word: `${answer.status} Refused`, tone: 'bad', sentence: scripted ?? reason };
  }
  if (entry.service === 'oauth') return { word: 'Access token given', tone: 'plain', sentence: scripted };
  if (isDryRun(entry)) {
    return { word: 'Dry run passed', tone: 'plain', sentence: scripted ?? 'validate_only: it would have been sent.' };
  }
  if (!delivered) {
    const unsent = checks.find(({ name, verdict }) => name === 'device' && verdict === 'warn');
    if (unsent !== undefined)
      return { word: 'Accepted, for nobody', tone: 'warn', sentence: sentenceOf(unsent.detail) };
    const reason = failed === undefined ? scripted : sentenceOf(failed.detail);
    return { word: 'Accepted, never seen', tone: 'bad', sentence: reason };
  }
  if (notification === null && entry.service !== 'webpush') {
    return {
      word: 'Delivered in the background',
      tone: 'good',
      sentence: scripted ?? 'It wakes the app and shows nothing.',
    };
  }
  if (notification === null) {
    const sentence = entry.payload === null ? 'No payload: the service worker decides what to show.' : null;
    return { word: 'Delivered, nothing to show', tone: entry.payload === null ? 'plain' : 'warn', sentence };
  }
  const [word, tone] = states[entry.state] ?? states.shown;
  return { word, tone, sentence: scripted };
}

function sentenceOf(text) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** Draws an entry into its list item again after each change. Details that were open stay open. */
export function drawEntry(item, entry, { look, onAct }) {
  const wasOpen = item.querySelector('details')?.open === true;
  const outcome = outcomeOf(entry);
  const lookName = lookOf(entry.vendor, look);
  const isShown = entry.state === 'shown' && entry.delivered;
  const act = isShown ? (event, action) => onAct(entry, event, action) : null;
  const seen = entry.delivered && entry.notification !== null;
  const target = targetOf(entry);
  const link = entry.state === 'clicked' ? webAddress(target) : null;
  const notes = seen ? [leftOut(entry.notification, lookName), declarativeNote(entry)].filter(Boolean) : [];
  item.setAttribute('data-state', entry.state);
  fill(
    item,
    h(
      'article',
      {
        class: 'entry',
        'aria-label': `${outcome.word}: ${entry.notification?.title ?? 'a push'}, ${vendors[entry.vendor]}`,
      },
      seen
        ? h(
            'div',
            { class: 'screen' },
            drawNotification(entry.notification, lookName, act),
            h('p', { class: 'screen-name' }, looks[lookName].title),
          )
        : null,
      h(
        'div',
        { class: 'about' },
        h(
          'div',
          { class: 'facts' },
          h('span', { class: 'badge', 'data-tone': outcome.tone }, outcome.word),
          h('span', { class: 'vendor' }, vendors[entry.vendor]),
          entry.service === 'oauth'
            ? null
            : h('span', { class: 'token', title: entry.endpoint ?? entry.request.path }, shortToken(entry.token)),
          time(entry.at),
        ),
        outcome.sentence === null ? null : h('p', {}, outcome.sentence),
        !seen && entry.notification !== null
          ? h('p', { class: 'unseen' }, `“${entry.notification.title || entry.notification.body}”`)
          : null,
        notes.length === 0 ? null : h('p', { class: 'note' }, notes.join(' ')),
        link === null
          ? null
          : h(
              'p',
              { class: 'opened' },
              'Opened ',
              h(
                'a',
                { href: link, target: '_blank', rel: 'noopener noreferrer' },
                entry.notification.url,
                icon('external'),
              ),
            ),
        receiptLine(entry),
        seen ? gist(entry) : null,
      ),
      details(entry, wasOpen),
    ),
  );
}

/**
 * Safari shows a declarative message without a service worker, so a click leads to the declared
 * address.
 */
function isDeclaredToSafari({ vendor, notification }) {
  return vendor === 'apple' && notification !== null && notification.declarative;
}

function targetOf(entry) {
  const { notification } = entry;
  return isDeclaredToSafari(entry) ? (notification.navigate ?? notification.url) : (notification?.url ?? null);
}

function declarativeNote(entry) {
  return isDeclaredToSafari(entry) && entry.notification.receipt_token !== null
    ? 'It is declarative: no service worker sees it, so only a click on its link is reported.'
    : null;
}

/** The most important facts about a push that arrived, without opening it. */
function gist(entry) {
  const { notification, request, payload } = entry;
  const { headers } = request;
  const browser = () => [
    ['Tag', notification.tag],
    ['Topic', headers.topic ?? null],
    ['Kept for', `${tellSeconds(headers.ttl)}, urgency ${headers.urgency ?? 'normal'}`],
    ['Size', `${new TextEncoder().encode(payload.text).length} bytes, ${request.body_bytes} encrypted`],
  ];
  const rows = [
    ['Opens', targetOf(entry)],
    ...(entry.service === 'apns' ? iphoneRows(entry) : entry.service === 'fcm' ? androidRows(entry) : browser()),
  ].filter(([, value]) => value !== null && value !== undefined);
  return h(
    'dl',
    { class: 'gist' },
    rows.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]),
  );
}

function iphoneRows({ notification: { tag, phone }, request: { headers, body_bytes: bytes } }) {
  const expiration = headers['apns-expiration'];
  return [
    ['App', headers['apns-topic']],
    ['Collapse id', tag],
    ['Push type', `${headers['apns-push-type'] ?? 'absent'}, priority ${headers['apns-priority'] ?? '10'}`],
    ['Thread', phone.group],
    ['Level', phone.level],
    ['Sound', phone.sound ?? 'none'],
    ['Kept until', expiration > 0 ? new Date(expiration * 1000).toLocaleString() : expiration && 'it is tried once'],
    ['Size', `${bytes} bytes`],
  ];
}

function androidRows({ notification: { tag, phone }, payload, request: { body_bytes: bytes } }) {
  const android = payload?.json?.message?.android ?? {};
  return [
    ['Project', phone.app],
    ['Tag', tag],
    ['Collapse key', android.collapse_key ?? android.collapseKey],
    ['Channel', phone.group],
    ['Priority', phone.level],
    ['Sound', phone.sound],
    ['Kept for', android.ttl && tellSeconds(android.ttl)],
    ['Size', `${bytes} bytes of request`],
  ];
}

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
];

/**
 * `259200`, also with the `s` of FCM, reads as `3 days`. A text that is no whole number stands as
 * it is.
 */
function tellSeconds(text) {
  const seconds = Number(String(text).replace(/s$/, ''));
  if (!Number.isInteger(seconds)) return text;
  if (seconds === 0) return 'no time';
  const [unit, size] = units.find((each) => seconds % each[1] === 0);
  return new Intl.NumberFormat(undefined, { style: 'unit', unit, unitDisplay: 'long' }).format(seconds / size);
}

function shortToken(token) {
  return token.length > 16 ? `${token.slice(0, 7)}…${token.slice(-6)}` : token || 'no token';
}

function receiptLine(entry) {
  if (!entry.receipts?.length) return null;
  return h(
    'p',
    { class: 'receipts' },
    entry.receipts.map(({ event, action, status, detail }) => {
      const isTaken = status !== null && status < 400;
      const what = action === null ? event : `${event} (${action})`;
      return h(
        'span',
        { 'data-tone': isTaken ? 'good' : 'bad', title: detail },
        icon(isTaken ? 'check' : 'x'),
        isTaken ? `reported as ${what}` : `${what} was not taken: ${status ?? detail}`,
      );
    }),
  );
}
