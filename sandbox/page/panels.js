// The panels beside the list: for browsers, for faults, and for Carillon's settings.
import { api, code, fill, h, icon } from './dom.js';
import { browsers, vendors } from './notification.js';

const switches = [
  ['gone', 'Gone', '410', { type: 'status', status: 410 }],
  ['unknown', 'Unknown endpoint', '404', { type: 'status', status: 404 }],
  ['throttled', 'Too many requests, back in 5 s', '429', { type: 'status', status: 429, retry_after: 5 }],
  ['too-large', 'Too large', '413', { type: 'status', status: 413 }],
  ['unavailable', 'Unavailable', '503', { type: 'status', status: 503, retry_after: 5 }],
  ['hang', 'No answer', 'hang', { type: 'hang' }],
  ['slow', 'Three seconds late', 'slow', { type: 'slow', delay_ms: 3000 }],
  ['reset', 'Reset the request', 'RST', { type: 'reset', code: 'REFUSED_STREAM' }],
  ['goaway', 'Send the client away', 'GOAWAY', { type: 'goaway' }],
  ['settings', 'Allow one stream at a time', 'SETTINGS', { type: 'settings', streams: 1 }],
  ['idle', 'Close when idle for 5 s', 'idle', { type: 'idle', idle_ms: 5000 }],
  ['close', 'Close the connection', 'FIN', { type: 'close' }],
  ['rubbish', 'A proxy’s error page', 'HTML', { type: 'rubbish', kind: 'html' }],
];

const choices = {
  every: ['every push', {}],
  next: ['the next push', { times: 1 }],
  second: ['every second push', { every: 2 }],
  first: ['each device’s first', { count: 'token', nth: 1 }],
  tenth: ['one device in ten', { share: 0.1 }],
};

/** Fault switches. `draw` gets the current rules whenever they change. */
export function faultPanel(panel) {
  const vendor = h('select', {}, h('option', { value: '' }, 'all services'), options(vendors));
  const which = h(
    'select',
    {},
    Object.entries(choices).map(([value, [label]]) => h('option', { value }, label)),
  );
  const list = h('ul', { class: 'switches' });
  const others = h('ul', { class: 'rules' });
  const problem = h('p', { class: 'problem', role: 'alert' });
  panel.append(
    h(
      'p',
      { class: 'note' },
      'The faults, and the pushes that they hit. A switch acts from the next push on. If several fit a push, the one switched on last acts.',
    ),
    h('div', { class: 'pair' }, labelled('At', vendor), labelled('Hits', which)),
    list,
    others,
    problem,
  );

  const change = async (method, path, body) => {
    problem.textContent = '';
    try {
      draw((await api(method, path, body)).faults);
    } catch (error) {
      problem.textContent = error.message;
    }
  };

  function draw(rules) {
    const ids = new Set(switches.map(([id]) => `switch-${id}`));
    fill(
      list,
      switches.map(([id, label, tag, action]) => {
        const rule = rules.find((each) => each.id === `switch-${id}`);
        const toggle = () =>
          rule === undefined
            ? change('POST', '/faults?place=first', {
                id: `switch-${id}`,
                match: { ...choices[which.value][1], ...(vendor.value === '' ? {} : { vendor: vendor.value }) },
                action,
              })
            : change('DELETE', `/faults/switch-${id}`);
        return h(
          'li',
          {},
          h(
            'button',
            {
              type: 'button',
              role: 'switch',
              'aria-checked': String(rule !== undefined),
              class: 'switch',
              onclick: toggle,
            },
            h('span', { class: 'track', 'aria-hidden': 'true' }),
            h('span', { class: 'switch-label' }, label, rule === undefined ? null : h('small', {}, describeRule(rule))),
            h('span', { class: 'tag' }, tag),
          ),
        );
      }),
    );
    fill(
      others,
      rules
        .filter((rule) => !ids.has(rule.id))
        .map((rule) =>
          h(
            'li',
            {},
            h('span', {}, h('strong', {}, rule.action.type), ` ${rule.id}`, h('small', {}, describeRule(rule))),
            h(
              'button',
              {
                type: 'button',
                class: 'quiet',
                'aria-label': `Remove the fault ${rule.id}`,
                onclick: () => change('DELETE', `/faults/${encodeURIComponent(rule.id)}`),
              },
              icon('x'),
            ),
          ),
        ),
    );
  }

  draw([]);
  return { draw, load: () => change('GET', '/faults') };
}

function describeRule({ match, hits }) {
  const at = match.vendor === null ? 'all services' : vendors[match.vendor];
  const which = [
    match.token !== null ? `token ${match.token}` : null,
    match.token_prefix !== null ? `tokens ${match.token_prefix}…` : null,
    match.share !== null ? `${Math.round(match.share * 100)} % of devices` : null,
    match.every !== null ? `every ${match.every}.` : null,
    match.nth !== null ? `number ${match.nth.join(', ')}${match.count === 'token' ? ' of each' : ''}` : null,
    match.times !== null ? (match.times === 1 ? 'once' : `${match.times} times`) : null,
  ].filter((each) => each !== null);
  return `${[at, ...which].join(', ')}: ${hits} ${hits === 1 ? 'hit' : 'hits'}`;
}

/** Makes one simulated browser and shows how to register it. */
export function browserPanel(panel) {
  const vendor = h('select', {}, options(browsers, 'fcm'));
  const key = h('input', {
    type: 'text',
    spellcheck: 'false',
    autocomplete: 'off',
    placeholder: 'from your application',
  });
  const made = h('div', { class: 'made', 'aria-live': 'polite' });
  const submit = async (event) => {
    event.preventDefault();
    try {
      const vapid = key.value.trim();
      const { subscriptions } = await api('POST', '/subscriptions', {
        vendor: vendor.value,
        ...(vapid === '' ? {} : { vapid_key: vapid }),
      });
      const device = { platform: 'web', token: subscriptions[0] };
      fill(
        made,
        h('p', { class: 'note' }, 'Register it as a device; a push to it appears here:'),
        code(JSON.stringify(device, null, 2), 'the body for POST /v1/devices'),
      );
    } catch (error) {
      fill(made, h('p', { class: 'problem', role: 'alert' }, error.message));
    }
  };
  panel.append(
    h(
      'form',
      { onsubmit: submit },
      labelled('Service', vendor),
      labelled('VAPID public key', key),
      h('button', { type: 'submit', class: 'primary' }, 'Make a browser'),
    ),
    made,
  );
}

/** The environment variables for Carillon, and all addresses. */
export function connectPanel(panel, about) {
  const facts = [
    ['Web push', about.push_origin],
    ['APNs', about.apns_url],
    ['APNs sandbox', about.apns_sandbox_url],
    ['FCM', about.fcm_url],
    ['Receipts go to', about.receipts_url ?? 'nowhere (start with --receipts URL)'],
    ['Accepts', about.accept === 'blind' ? 'everything, unread' : 'what the vendors accept'],
  ];
  panel.append(
    code(variables(about), 'the variables for Carillon'),
    h(
      'dl',
      {},
      facts.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]),
    ),
  );
}

/** The steps that are needed before anything can arrive. */
export function firstSteps(section, about) {
  const make = `curl -s ${location.origin}/subscriptions \\\n  -H 'content-type: application/json' \\\n  -d '{"vendor":"fcm","vapid_key":"YOUR_VAPID_PUBLIC_KEY"}'\ncurl -s ${location.origin}/devices -d '{"platform":"ios"}'\ncurl -s ${location.origin}/devices -d '{"platform":"android"}'`;
  fill(
    section,
    h(
      'p',
      { class: 'lead' },
      'Every push sent to this sandbox appears here at once, as the person would have seen it.',
    ),
    h(
      'ol',
      { class: 'steps' },
      h(
        'li',
        {},
        h('h2', {}, 'Start Carillon with these variables'),
        code(variables(about), 'the variables for Carillon'),
      ),
      h(
        'li',
        {},
        h('h2', {}, 'Make a browser or a phone'),
        h('p', {}, 'The answer holds what POST /v1/devices takes. The forms on this page do the same.'),
        code(make, 'the command'),
      ),
      h(
        'li',
        {},
        h('h2', {}, 'Send'),
        h(
          'p',
          {},
          'To that device, from Carillon or from any other sender. Keys for APNs and FCM are made under Phones.',
        ),
      ),
    ),
  );
}

function variables(about) {
  return Object.entries(about.environment)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n');
}

export function options(labels, selected) {
  return Object.entries(labels).map(([value, label]) => h('option', { value, selected: value === selected }, label));
}

export function labelled(text, control) {
  return h('label', { class: 'field' }, h('span', {}, text), control);
}
