// Runs the demo page's own scripts with minimal elements: which client key they accept, and after
// whose click.
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

const demoDir = fileURLToPath(new URL('../../server/demo', import.meta.url));
const mine = `ck_live_${'1'.repeat(49)}`;
const theirs = `ck_live_${'2'.repeat(45)}wxyz`;

/** A stand-in for the SDK that records the keys which clients are made with. */
const sdk = `
  export class CarillonError extends Error {}
  ${[
    'ApiError',
    'InsecureContextError',
    'NetworkError',
    'PermissionDeniedError',
    'PushServiceError',
    'ServiceWorkerError',
  ]
    .concat('StorageError', 'UnsupportedBrowserError', 'WebPushNotConfiguredError')
    .map((name) => `export class ${name} extends CarillonError {}`)
    .join('\n')}
  export function createCarillon({ clientKey }) {
    globalThis.keysUsed.push(clientKey);
    return { permission: () => 'default', config: async () => ({ vapidPublicKey: 'B' }), refresh: async () => null, onPush: () => () => {} };
  }`;

class FakeElement {
  hidden: boolean;
  textContent = '';
  value = '';
  readonly dataset: Record<string, string> = {};
  readonly #listeners = new Map<string, (event: object) => void>();

  constructor(isHidden: boolean) {
    this.hidden = isHidden;
  }

  addEventListener(kind: string, listener: (event: object) => void): void {
    this.#listeners.set(kind, listener);
  }

  fire(kind: string): void {
    this.#listeners.get(kind)?.({ preventDefault() {} });
  }

  focus(): void {
    vi.stubGlobal('focused', this);
  }

  setAttribute(): void {}
  toggleAttribute(): void {}
  replaceChildren(): void {}
  append(): void {}
}

let dir: string;
let keysUsed: string[];
let stored: Map<string, string>;
let listeners: Map<string, () => void>;
let location: { hash: string };

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'carillon-demo-'));
  await cp(demoDir, dir, { recursive: true });
  await writeFile(join(dir, 'carillon.js'), sdk);
  await writeFile(join(dir, 'package.json'), '{"type":"module"}');
  keysUsed = [];
  stored = new Map();
  listeners = new Map();
  location = { hash: '', origin: 'https://push.example', pathname: '/demo', search: '' };
  vi.stubGlobal('keysUsed', keysUsed);
  vi.stubGlobal('location', location);
  vi.stubGlobal('isSecureContext', true);
  vi.stubGlobal('navigator', {});
  vi.stubGlobal('history', {
    replaceState: () => {
      location.hash = '';
    },
  });
  vi.stubGlobal('localStorage', {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => stored.set(name, value),
  });
  vi.stubGlobal('addEventListener', (kind: string, listener: () => void) => listeners.set(kind, listener));
});

afterEach(async () => {
  vi.unstubAllGlobals();
  await rm(dir, { recursive: true });
});

async function openPage(hash: string, remembered?: string) {
  if (remembered) stored.set('carillon-demo-client-key', remembered);
  location.hash = hash;
  const html = await readFile(join(dir, 'index.html'), 'utf8');
  const elements = new Map<string, FakeElement & { id: string }>();
  for (const [tag, id] of html.matchAll(/<[a-z0-9]+[^>]*\bid="([^"]+)"[^>]*>/g)) {
    if (id) elements.set(id, Object.assign(new FakeElement(/\shidden/.test(tag)), { id }));
  }
  vi.stubGlobal('document', {
    querySelectorAll: (selector: string) => (selector === '[id]' ? [...elements.values()] : []),
    createElement: () => new FakeElement(false),
    createTextNode: () => new FakeElement(false),
  });
  await import(/* @vite-ignore */ pathToFileURL(join(dir, 'demo.js')).href);
  return (id: string): FakeElement => {
    const element = elements.get(id);
    if (!element) throw new Error(`The page has no #${id}.`);
    return element;
  };
}

const rememberedNow = () => stored.get('carillon-demo-client-key');

test('the first key of a link is used at once and removed from the address', async () => {
  const page = await openPage(`#${mine}`);
  expect(keysUsed).toEqual([mine]);
  expect(location.hash).toBe('');
  expect(page('key-question').hidden).toBe(true);
});

test('a link with the key in use causes no question', async () => {
  const page = await openPage(`#${mine}`, mine);
  expect(keysUsed).toEqual([mine]);
  expect(page('key-question').hidden).toBe(true);
});

test('another key in a link needs a click: both keys are shown, and the current one stays in use', async () => {
  const page = await openPage(`#${theirs}`, mine);
  expect(keysUsed).toEqual([mine]);
  expect(rememberedNow()).toBe(mine);
  expect(page('key-question').hidden).toBe(false);
  expect(page('key-present').textContent).toBe('ck_live_1111…1111');
  expect(page('key-offered').textContent).toBe('ck_live_2222…wxyz');
  expect(globalThis).toHaveProperty('focused', page('key-question-heading'));
});

test('a link followed while the page is open causes the question, too', async () => {
  const page = await openPage('', mine);
  location.hash = `#${theirs}`;
  listeners.get('hashchange')?.();
  expect(keysUsed).toEqual([mine]);
  expect(page('key-question').hidden).toBe(false);
});

test('keeping the current key ends the question, also for a later click on the other button', async () => {
  const page = await openPage(`#${theirs}`, mine);
  page('key-keep').fire('click');
  expect(page('key-question').hidden).toBe(true);
  page('key-take').fire('click');
  expect(keysUsed).toEqual([mine]);
  expect(rememberedNow()).toBe(mine);
});

test('the key of the link is used after a click', async () => {
  const page = await openPage(`#${theirs}`, mine);
  page('key-take').fire('click');
  expect(keysUsed).toEqual([mine, theirs]);
  expect(rememberedNow()).toBe(theirs);
  expect(page('key-question').hidden).toBe(true);
});

test('a key pasted meanwhile ends the question', async () => {
  const page = await openPage(`#${theirs}`, mine);
  page('key-input').value = `ck_live_${'3'.repeat(49)}`;
  page('key-form').fire('submit');
  page('key-take').fire('click');
  expect(rememberedNow()).toBe(`ck_live_${'3'.repeat(49)}`);
});
