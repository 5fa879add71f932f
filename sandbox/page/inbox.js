// Puts the page together: the list, the panels, the controls above them, and the live connection to
// the sandbox.
import { api, fill, icon, refreshTimes } from './dom.js';
import { List } from './feed.js';
import { browserPanel, connectPanel, faultPanel, firstSteps } from './panels.js';
import { phonePanel } from './phones.js';

const at = (id) => document.getElementById(id);

const list = new List({
  entries: at('entries'),
  headline: at('headline'),
  announce: at('announce'),
  firstSteps: at('first-steps'),
  tools: at('tools'),
  fresh: at('fresh'),
  none: at('none'),
  older: at('older'),
});
const faults = faultPanel(at('faults'));
browserPanel(at('browsers'));
phonePanel(at('phones'));

startControls();
startTheme();
const about = await api('GET', '/addresses');
connectPanel(at('connect'), about);
firstSteps(at('first-steps'), about);
if (about.accept === 'blind') {
  list.beBlind();
  setInterval(async () => list.count(await api('GET', '/counters')), 1000);
}
listen();
setInterval(refreshTimes, 10_000);

/**
 * Follows the sandbox. The browser reconnects by itself, and after each reconnect the page loads
 * what it missed.
 */
function listen() {
  const live = at('live');
  const source = new EventSource('/events');
  const on = (name, act) => source.addEventListener(name, (event) => act(JSON.parse(event.data)));
  on('hello', () => {
    live.textContent = 'Live';
    live.dataset.tone = 'good';
    void list.load();
    void faults.load();
  });
  on('pushes', ({ entries, skipped, changes, counters, faults: rules }) => {
    list.count(counters);
    list.arrive(entries, skipped);
    list.change(changes);
    if (rules !== null) faults.draw(rules);
  });
  on('faults', ({ faults: rules }) => faults.draw(rules));
  on('clear', () => {
    list.clear();
    void list.load();
  });
  source.addEventListener('error', () => {
    live.textContent = 'Reconnecting';
    live.dataset.tone = 'warn';
  });
}

/**
 * Filters and the chosen look are stored in the address, so that a reload or a colleague sees the
 * same.
 */
function startControls() {
  const query = new URLSearchParams(location.search);
  const choices = [...document.querySelectorAll('[data-show]')];
  const remember = (name, value, otherwise) => {
    if (value === otherwise) query.delete(name);
    else query.set(name, value);
    history.replaceState(null, '', query.size === 0 ? location.pathname : `?${query}`);
  };
  const show = (value) => {
    for (const each of choices) each.setAttribute('aria-pressed', String(each.dataset.show === value));
    list.choose({ show: value });
    remember('show', value, 'all');
  };
  for (const each of choices) each.addEventListener('click', () => show(each.dataset.show));
  if (choices.some((each) => each.dataset.show === query.get('show'))) show(query.get('show'));

  const search = at('search');
  search.value = query.get('q') ?? '';
  search.addEventListener('input', () => {
    list.choose({ search: search.value });
    remember('q', search.value, '');
  });
  const look = at('look');
  if ([...look.options].some(({ value }) => value === query.get('look'))) look.value = query.get('look');
  look.addEventListener('change', () => {
    list.choose({ look: look.value });
    remember('look', look.value, 'auto');
  });
  list.choose({ search: search.value, look: look.value });

  const pause = at('pause');
  pause.addEventListener('click', () => {
    const isPaused = pause.getAttribute('aria-pressed') !== 'true';
    pause.setAttribute('aria-pressed', String(isPaused));
    fill(
      pause,
      icon(isPaused ? 'play' : 'pause'),
      Object.assign(document.createElement('span'), { textContent: isPaused ? 'Resume' : 'Pause' }),
    );
    list.pause(isPaused);
  });
  const controls = at('controls');
  controls.addEventListener('click', () => {
    const isOpen = controls.getAttribute('aria-expanded') !== 'true';
    controls.setAttribute('aria-expanded', String(isOpen));
    at('aside').toggleAttribute('data-open', isOpen);
    if (isOpen) scrollTo(0, 0);
  });
  at('clear').addEventListener('click', () => void api('DELETE', '/log'));
}

function startTheme() {
  const button = at('theme');
  const isDark = () => {
    const { theme } = document.documentElement.dataset;
    return theme === undefined ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark';
  };
  const draw = () => fill(button, icon(isDark() ? 'sun' : 'moon'));
  button.addEventListener('click', () => {
    const next = isDark() ? 'light' : 'dark';
    document.documentElement.dataset.theme = next;
    localStorage.setItem('theme', next);
    draw();
  });
  draw();
}
