// The list of pushes: its order, new entries and changes. The server sends at most four times a
// second, and the page keeps only the newest `entriesMax` entries.
import { api, fill } from './dom.js';
import { drawEntry, kindOf, outcomeOf } from './entry.js';

const entriesMax = 300;
const page = 50;

export class List {
  #entries = new Map();
  #items = new Map();
  #held = [];
  #isHeldAfterHole = false;
  #isPaused = false;
  #isBlind = false;
  #show = 'all';
  #search = '';
  #look = 'auto';
  #list;
  #parts;

  constructor(parts) {
    this.#parts = parts;
    this.#list = parts.entries;
    parts.fresh.addEventListener('click', () => this.release());
    parts.older.addEventListener('click', () => this.#loadOlder());
    this.#list.addEventListener('keydown', (event) => this.#walk(event));
  }

  /** Loads the entries from before the page was opened. */
  async load() {
    const { entries, counters } = await api('GET', `/inbox?limit=${page}`);
    this.clear();
    for (const entry of entries.toReversed()) this.#place(entry);
    this.#parts.older.hidden = entries.length < page;
    this.count(counters);
    this.#settle();
  }

  /**
   * Adds new entries; `entries` begins with the newest. `isSkipped`: other entries came before them
   * that the page does not get.
   */
  arrive(entries, isSkipped) {
    const fresh = entries.filter(({ id }) => !this.#entries.has(id)).toReversed();
    if (isSkipped) {
      this.#held = [];
      this.#isHeldAfterHole = this.#isPaused;
      if (!this.#isPaused) this.#restart();
    }
    if (this.#isPaused) this.#held.push(...fresh);
    else for (const entry of fresh) this.#place(entry);
    this.#settle();
    const last = fresh.at(-1);
    if (last === undefined || this.#isPaused) return;
    const rest = fresh.length > 1 ? ` and ${fresh.length - 1} more` : '';
    this.#parts.announce.textContent = `${outcomeOf(last).word}: ${last.notification?.title ?? 'a push'}${rest}`;
  }

  /** Updates states and receipts of listed entries. */
  change(changes) {
    for (const { id, state, receipts } of changes) {
      const entry = this.#entries.get(id) ?? this.#held.find((each) => each.id === id);
      if (entry === undefined) continue;
      Object.assign(entry, { state, receipts });
      this.#draw(entry);
    }
  }

  count(counters) {
    this.#parts.headline.textContent = this.#isBlind ? blindHeadline(counters) : headline(counters);
  }

  /** In blind mode the sandbox reads no push, so there is nothing to list. */
  beBlind() {
    this.#isBlind = true;
  }

  pause(isPaused) {
    this.#isPaused = isPaused;
    if (!isPaused) this.release();
  }

  release() {
    if (this.#isHeldAfterHole) this.#restart();
    this.#isHeldAfterHole = false;
    for (const entry of this.#held.splice(0)) this.#place(entry);
    this.#settle();
  }

  choose({ show = this.#show, search = this.#search, look = this.#look }) {
    const isRedrawn = look !== this.#look;
    this.#show = show;
    this.#search = search.trim().toLowerCase();
    this.#look = look;
    for (const [id, item] of this.#items) {
      const entry = this.#entries.get(id);
      item.hidden = !this.#isListed(entry);
      if (isRedrawn) this.#draw(entry);
    }
    this.#settle();
  }

  clear() {
    this.#restart();
    this.#held = [];
    this.#parts.older.hidden = true;
    this.#settle();
  }

  /**
   * Empties the list. The list has no gaps: it holds every push after some point, and loads older
   * ones on request.
   */
  #restart() {
    this.#entries.clear();
    this.#items.clear();
    fill(this.#list);
    this.#parts.older.hidden = false;
  }

  #place(entry, isOlder = false) {
    if (this.#entries.has(entry.id)) return;
    const item = document.createElement('li');
    this.#entries.set(entry.id, entry);
    this.#items.set(entry.id, item);
    this.#draw(entry);
    item.hidden = !this.#isListed(entry);
    if (isOlder) this.#list.append(item);
    else this.#list.prepend(item);
    if (isOlder || this.#items.size <= entriesMax) return;
    const oldest = Math.min(...this.#items.keys());
    this.#items.get(oldest)?.remove();
    this.#items.delete(oldest);
    this.#entries.delete(oldest);
    this.#parts.older.hidden = false;
  }

  #draw(entry) {
    const item = this.#items.get(entry.id);
    if (item === undefined) return;
    const hadFocus = item.contains(document.activeElement);
    drawEntry(item, entry, { look: this.#look, onAct: (each, event, action) => this.#act(each, event, action) });
    // The pressed button is gone with its notification, so the focus moves to the entry's summary.
    if (hadFocus) item.querySelector('summary')?.focus();
  }

  async #act(entry, event, action) {
    // Shown as done at once; the answer brings the receipt.
    entry.state = event;
    this.#draw(entry);
    try {
      this.change([await api('POST', `/inbox/${entry.id}/act`, { event, ...(action === null ? {} : { action }) })]);
    } catch {
      // The next load of the page shows the true state.
    }
  }

  async #loadOlder() {
    const before = Math.min(...this.#entries.keys());
    const { entries } = await api('GET', `/inbox?limit=${page}&before=${before}`);
    for (const entry of entries) this.#place(entry, true);
    this.#parts.older.hidden = entries.length < page;
    this.#settle();
  }

  #isListed(entry) {
    if (this.#show !== 'all' && kindOf(entry) !== this.#show) return false;
    if (this.#search === '') return true;
    const { notification, token } = entry;
    const text = [notification?.title, notification?.body, notification?.tag, token, entry.request.headers.topic];
    return text.some((each) => typeof each === 'string' && each.toLowerCase().includes(this.#search));
  }

  #settle() {
    const { firstSteps, tools, fresh, none } = this.#parts;
    const isEmpty = this.#entries.size === 0 && this.#held.length === 0;
    firstSteps.hidden = !isEmpty;
    tools.hidden = isEmpty;
    none.hidden = isEmpty || [...this.#items.values()].some((item) => !item.hidden);
    fresh.hidden = this.#held.length === 0;
    fresh.textContent = `Show ${this.#held.length} new`;
  }

  /** Arrow keys move the focus from push to push. */
  #walk(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || !event.target.matches('.entry > details > summary')) return;
    const all = [...this.#list.querySelectorAll('li:not([hidden]) .entry > details > summary')];
    const next = all[all.indexOf(event.target) + step];
    if (next === undefined) return;
    event.preventDefault();
    next.focus();
    next.closest('li').scrollIntoView({ block: 'nearest' });
  }
}

const number = new Intl.NumberFormat();

/** The headline above the list. */
function headline({ requests, delivered, refused, unanswered, undecryptable }) {
  if (requests === 0) return 'Nothing has arrived yet.';
  const nobody = requests - delivered - refused - unanswered - undecryptable;
  const say = (count, text) => (count === 0 ? null : `${number.format(count)} ${text}`);
  const parts = [
    delivered === requests ? 'all reached a device' : `${number.format(delivered)} reached a device`,
    say(refused, refused === 1 ? 'was refused' : 'were refused'),
    say(unanswered, 'got no answer'),
    say(undecryptable, 'could not be opened'),
    say(Math.max(0, nobody), nobody === 1 ? 'was for nobody' : 'were for nobody'),
  ].filter((each) => each !== null);
  if (requests === 1 && delivered === 1) return '1 push, and it reached a device.';
  return `${number.format(requests)} ${requests === 1 ? 'push' : 'pushes'}: ${parts.join(', ')}.`;
}

function blindHeadline({ requests }) {
  return `${number.format(requests)} ${requests === 1 ? 'push' : 'pushes'} accepted unread.`;
}
