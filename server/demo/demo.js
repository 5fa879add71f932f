// The demo page: takes the client key, subscribes this browser, shows the command that rings it and what its worker saw.
// Never asks for a server key, and puts nothing into the page but as text.
import { CarillonError, createCarillon, InsecureContextError, WebPushNotConfiguredError } from './carillon.js';
import { keyIn, keyProblem, rememberedKey, rememberKey, shortKey } from './client-key.js';
import { explain, explainPermission } from './explain.js';

const origin = location.origin;

const page = Object.fromEntries([...document.querySelectorAll('[id]')].map((element) => [element.id, element]));

/** @type {import('../../web/src/index.ts').Carillon | null} */
let carillon = null;
let stopListening = () => {};
/** Counts the steps begun: a step that was overtaken by another no longer speaks. */
let turn = 0;
let isBusy = false;
/** The key of a link, while the question stands whether to use it. */
let offeredKey = null;

page['allow'].addEventListener('click', () => {
  const isAsked = carillon.permission() === 'default';
  void run(isAsked ? 'Your browser is asking. Choose Allow.' : 'Subscribing…', () => carillon.subscribe());
});
page['again'].addEventListener('click', () => check());
page['stop'].addEventListener('click', () =>
  run('Unsubscribing…', async () => {
    await carillon.unsubscribe();
    return null;
  }),
);
page['key-keep'].addEventListener('click', () => answerWhichKey(false));
page['key-take'].addEventListener('click', () => answerWhichKey(true));
page['key-change'].addEventListener('click', () => askForKey(''));
page['key-form'].addEventListener('submit', (event) => {
  event.preventDefault();
  useKey(page['key-input'].value.trim());
});
for (const button of document.querySelectorAll('[data-copies]')) {
  button.addEventListener('click', () => copy(page[button.dataset.copies], button));
}
addEventListener('hashchange', () => takeKeyFromAddress() && start());

function endKeyQuestion() {
  offeredKey = null;
  page['key-question'].hidden = true;
}

/** The key comes in the fragment, which no server ever sees, and leaves the address bar before anyone can share it. */
function takeKeyFromAddress() {
  const key = keyIn(location.hash);
  if (!key) return false;
  history.replaceState(null, '', location.pathname + location.search);
  const problem = keyProblem(key);
  if (problem) return askForKey(problem);
  const present = rememberedKey();
  if (present && present !== key) return askWhichKey(present, key);
  endKeyQuestion();
  rememberKey(key);
  return true;
}

/** The maker of a link must not choose the app that rings a browser in use: that takes a click on this page. */
function askWhichKey(present, offered) {
  offeredKey = offered;
  page['key-present'].textContent = shortKey(present);
  page['key-offered'].textContent = shortKey(offered);
  page['key-question'].hidden = false;
  page['key-question-heading'].focus();
  return false;
}

function answerWhichKey(isTaken) {
  const key = offeredKey;
  endKeyQuestion();
  if (isTaken && key) {
    rememberKey(key);
    start();
  }
  page[page['allow-step'].hidden ? 'key-input' : 'allow-heading'].focus();
}

function start() {
  const key = rememberedKey();
  if (!key) return askForKey(page['key-error'].textContent);
  stopListening();
  carillon = createCarillon({
    baseUrl: origin,
    clientKey: key,
    serviceWorkerUrl: '/demo/carillon-sw.js',
    scope: '/demo',
    notificationDefaults: { title: 'Carillon', icon: '/demo/bell-192.png' },
  });
  stopListening = carillon.onPush(showSeen);
  page['key'].hidden = true;
  for (const step of ['allow-step', 'send-step', 'seen-step']) page[step].hidden = false;
  page['key-in-use'].hidden = false;
  page['key-shown'].textContent = shortKey(key);
  void check();
}

/** Finds out, before anyone presses anything, whether subscribing can work at all, and whether this browser has already. */
function check() {
  return run('Looking at this browser…', async () => {
    if (!isSecureContext) throw new InsecureContextError('');
    if (carillon.permission() === 'unsupported') return carillon.subscribe();
    const { vapidPublicKey } = await carillon.config();
    if (!vapidPublicKey) throw new WebPushNotConfiguredError('');
    return carillon.refresh();
  });
}

/** Runs one step, says meanwhile what is going on, and shows the device it ends with, or what is in the way. */
async function run(meanwhile, step) {
  turn += 1;
  const mine = turn;
  isBusy = true;
  say('busy', meanwhile);
  show({ device: null, buttons: [] });
  const end = await step().then(
    (device) => () => tellDevice(device),
    (error) => () => {
      if (!(error instanceof CarillonError)) console.error(error);
      tell(explain(error, origin));
    },
  );
  if (mine !== turn) return;
  isBusy = false;
  end();
}

function tellDevice(device) {
  if (device) {
    say('good', 'This browser is subscribed.', ['Now send it something.']);
    show({ device, buttons: ['stop'] });
  } else if (carillon.permission() === 'denied') {
    tell(explainPermission('denied'));
  } else {
    say('idle', 'This browser is not subscribed.', ['Press the button; your browser will ask you once.']);
    show({ device: null, buttons: ['allow'] });
  }
}

/** Who unblocks notifications in the browser's settings need not reload; who is asked sees what follows the answer. */
async function followPermission() {
  const permission = await navigator.permissions?.query({ name: 'notifications' });
  permission?.addEventListener('change', () => {
    if (isBusy) say('busy', 'Subscribing…');
    else if (carillon && page['key'].hidden) void check();
  });
}

/** @param {import('./explain.js').Explanation} explanation */
function tell({ title, steps, next }) {
  say('bad', title, steps);
  show({ device: null, buttons: next === 'allow' || next === 'again' ? [next] : [] });
  if (next === 'key') askForKey('', { keepStatus: true });
}

function say(tone, title, steps = []) {
  const heading = document.createElement('p');
  heading.className = 'status-title';
  heading.textContent = title;
  page['status'].dataset.tone = tone;
  page['status'].replaceChildren(heading, ...steps.map(paragraph));
}

function show({ device, buttons }) {
  for (const name of ['allow', 'again', 'stop']) page[name].hidden = !buttons.includes(name);
  page['allow-step'].toggleAttribute('data-done', Boolean(device));
  for (const step of ['send-step', 'seen-step']) page[step].toggleAttribute('data-waiting', !device);
  page['send'].hidden = !device;
  page['send-later'].hidden = Boolean(device);
  if (!device) return;
  page['device'].value = device.id;
  page['command'].textContent = commandFor(device.id);
}

function commandFor(deviceId) {
  const audience = JSON.stringify({ device_ids: [deviceId] });
  const words = JSON.stringify(
    { title: 'Carillon rings', body: 'Sent with one request.', url: `${origin}/demo` },
    null,
    2,
  );
  return [
    `curl ${origin}/v1/messages \\`,
    "  -H 'authorization: Bearer sk_live_…' \\",
    "  -H 'content-type: application/json' \\",
    "  -d '{",
    `    "audience": ${audience},`,
    `    "content": ${words.replaceAll('\n', '\n    ')}`,
    "  }'",
  ].join('\n');
}

const seenWords = {
  pushed: 'Received',
  displayed: 'Displayed',
  clicked: 'Clicked',
  dismissed: 'Dismissed',
  renewed: 'Subscription renewed',
  receipt_lost: 'Receipt not delivered',
};

/** @param {import('../../web/src/index.ts').PushReport} report */
function showSeen(report) {
  const at = new Date(report.at);
  const time = document.createElement('time');
  time.dateTime = at.toISOString();
  time.textContent = at.toLocaleTimeString();
  const what = document.createElement('span');
  what.className = 'what';
  what.textContent = (seenWords[report.kind] ?? report.kind) + (report.action ? ` (${report.action})` : '');
  const words = document.createElement('span');
  words.className = 'words';
  words.textContent = [report.title, report.body].filter(Boolean).join(' · ');
  const item = document.createElement('li');
  item.dataset.kind = report.kind;
  item.append(time, what, words);
  page['seen'].prepend(item);
  page['seen-nothing'].hidden = true;
}

function askForKey(problem, { keepStatus = false } = {}) {
  page['key'].hidden = false;
  page['allow-step'].hidden = !keepStatus;
  page['send-step'].hidden = page['seen-step'].hidden = true;
  page['key-in-use'].hidden = true;
  sayKeyProblem(problem);
  page['key-input'].value = '';
  if (!keepStatus) page['key-input'].focus();
  return false;
}

function useKey(key) {
  const problem = keyProblem(key);
  sayKeyProblem(problem);
  if (problem) return page['key-input'].focus();
  endKeyQuestion();
  rememberKey(key);
  start();
}

function sayKeyProblem(problem) {
  page['key-error'].textContent = problem;
  page['key-input'].setAttribute('aria-invalid', String(Boolean(problem)));
}

async function copy(source, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(source.value ?? source.textContent);
    button.textContent = 'Copied';
  } catch {
    // Without clipboard access the text is selected, one keystroke away.
    source.select ? source.select() : getSelection().selectAllChildren(source);
    button.textContent = 'Selected';
  }
  setTimeout(() => {
    button.textContent = before;
  }, 1600);
}

/** A paragraph in which text between backticks is code. */
function paragraph(text) {
  const element = document.createElement('p');
  text.split('`').forEach((piece, position) => {
    const part = position % 2 === 1 ? document.createElement('code') : document.createTextNode('');
    part.textContent = piece;
    element.append(part);
  });
  return element;
}

takeKeyFromAddress();
start();
followPermission().catch(() => {});
