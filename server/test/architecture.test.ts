// Enforces the layout rule of ARCHITECTURE.md: a module imports only from rows below its own. It
// also prints, without failing, where SQL, the environment, the clock and random numbers are used
// outside their rooms.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const src = join(root, 'server/src');

/**
 * The wings with their rooms, and the rows of the rooms from the ground up. Rooms on one row do not
 * import each other.
 */
const wings: Readonly<Record<string, readonly string[]>> = {
  ground: ['values', 'pacing', 'secrets', 'host', 'database', 'outbound', 'http', 'openapi'],
  teams: ['audit', 'apps', 'accounts', 'quotas'],
  people: ['properties', 'audience', 'devices', 'users', 'segments', 'imports'],
  sending: ['content', 'channels', 'drafts', 'messages', 'delivery', 'receipts', 'webhooks'],
  insight: ['events', 'reports', 'explain', 'requests'],
  console: ['pages', 'operations'],
  operation: ['backup', 'metrics', 'process', 'seed', 'cli'],
};
const rows: readonly (readonly string[])[] = [
  ['values', 'config', 'install'],
  ['host'],
  ['pacing', 'secrets'],
  ['database', 'outbound'],
  ['http', 'backup'],
  ['content', 'openapi'],
  ['audit', 'channels'],
  ['apps', 'accounts', 'webhooks', 'drafts'],
  ['properties', 'quotas'],
  ['audience'],
  ['devices'],
  ['users'],
  ['delivery', 'segments', 'events', 'imports'],
  ['messages', 'receipts', 'reports', 'explain', 'requests'],
  ['metrics', 'pages', 'operations'],
  ['process'],
  ['seed'],
  ['cli'],
  ['main'],
];
const rowOf = new Map(rows.flatMap((rooms, row) => rooms.map((room) => [room, row] as const)));

interface Import {
  readonly from: string;
  readonly to: string;
}

function filesIn(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesIn(join(dir, entry.name)) : /\.tsx?$/.test(entry.name) ? [join(dir, entry.name)] : [],
  );
}

/** `sending/delivery/queries.ts` → `delivery`; `ground/install.ts` → `install`; `main.ts` → `main`. */
function roomOf(path: string): string {
  const [first = '', second = first] = relative(src, path).split('/');
  return second.replace(/\.ts$/, '');
}

const sources = filesIn(src).filter((path) => !path.endsWith('.test.ts'));
const packaged = readdirSync(join(root, 'packages'))
  .flatMap((name) => filesIn(join(root, 'packages', name, 'src')))
  .filter((path) => !path.endsWith('.test.ts'));
const text = new Map([...sources, ...packaged].map((path) => [path, readFileSync(path, 'utf8')]));

function importsOf(path: string): string[] {
  return [...readFileSync(path, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map((match) =>
    resolve(dirname(path), match[1] ?? ''),
  );
}

const imports: Import[] = sources.flatMap((from) => importsOf(from).map((to) => ({ from, to })));

/**
 * Whether a source can reach the network: through Node's modules, through globals, through a
 * package, or through a dynamic import.
 */
function goesOut(source: string): boolean {
  const code = source
    .replace(/^\s*(?:\/\/|\*|\/\*).*$/gm, '')
    .replace(/\s\/\/ .*$/gm, '')
    .replace(/^import type [^;]*;$/gm, '');
  const outward = /(?:from|import|require)\s*\(?\s*['"](?:node:)?(?:https?|http2|net|tls|dns|dgram)(?:\/[^'"]*)?['"]/;
  const packages = /(?:from|import|require)\s*\(?\s*['"](?:undici|axios|got|ws|node-fetch)['"]/;
  const unseen = /\bcreateRequire\b|\bgetBuiltinModule\b|process\.binding|\beval: true\b/;
  return [outward, packages, unseen, /\bfetch\s*\(|\.fetch\b/, /\bWebSocket\b|\bEventSource\b/].some((way) =>
    way.test(code),
  );
}

describe('the layout', () => {
  it('has a row for every room and a room for every row', () => {
    expect([...new Set(sources.map(roomOf))].sort()).toEqual([...rowOf.keys()].sort());
  });

  it('keeps every file in a room of a wing, except the door, the settings and the place of the files', () => {
    const entriesOf = (dir: string) => readdirSync(join(src, dir), { withFileTypes: true });
    const looseIn = (dir: string) => entriesOf(dir).flatMap((entry) => (entry.isFile() ? [join(dir, entry.name)] : []));
    expect(['', ...Object.keys(wings)].flatMap(looseIn).sort()).toEqual([
      'config.test.ts',
      'config.ts',
      'ground/install.ts',
      'main.ts',
    ]);
    const found = entriesOf('').filter((entry) => entry.isDirectory());
    const rooms = Object.fromEntries(
      found.map(({ name }) => [name, entriesOf(name).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))]),
    );
    const sorted = (all: Readonly<Record<string, readonly string[]>>) =>
      Object.fromEntries(Object.entries(all).map(([wing, names]) => [wing, [...names].sort()]));
    expect(sorted(rooms)).toEqual(sorted(wings));
  });

  it('imports downward only', () => {
    const upward = imports.filter(({ from, to }) => {
      const [above, below] = [roomOf(from), roomOf(to)];
      return above !== below && (rowOf.get(below) ?? -1) >= (rowOf.get(above) ?? -1);
    });
    expect(upward.map(({ from, to }) => `${relative(src, from)} → ${relative(src, to)}`)).toEqual([]);
  });

  it.each([
    ...['packages/http2', 'packages/postgres', 'server', 'console', 'web', 'node', 'sandbox', 'rig', 'bench', 'proof'],
    'e2e',
  ])('has no circle in %s', (name) => {
    const files = filesIn(join(root, name, 'src'));
    const all = files.flatMap((from) => importsOf(from).map((to) => ({ from, to })));
    // A file that imports none of the rest, or that none of the rest imports, is in no circle.
    let rest = new Set(files);
    for (let size = Number.POSITIVE_INFINITY; rest.size < size; ) {
      size = rest.size;
      const inner = all.filter(({ from, to }) => rest.has(from) && rest.has(to));
      const importing = new Set(inner.map(({ from }) => from));
      const imported = new Set(inner.map(({ to }) => to));
      rest = new Set([...rest].filter((path) => importing.has(path) && imported.has(path)));
    }
    expect([...rest].map((path) => relative(root, path))).toEqual([]);
    expect(all.length).toBeGreaterThan(files.length);
  });

  it('keeps server and sandbox independent of each other, the SDKs of both, and the packages of all', () => {
    const packages = {
      http2: join(root, 'packages/http2/src'),
      postgres: join(root, 'packages/postgres/src'),
      server: src,
      sandbox: join(root, 'sandbox/src'),
      web: join(root, 'web/src'),
      node: join(root, 'node/src'),
    };
    const strangers = Object.entries(packages).flatMap(([name, dir]) =>
      filesIn(dir)
        .filter((path) => !path.endsWith('.test.ts'))
        .flatMap((path) =>
          [...readFileSync(path, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)]
            .map((match) => match[1] ?? '')
            .filter((target) => {
              const inside = target.startsWith('.') ? resolve(dirname(path), target).startsWith(dir) : true;
              return (
                !inside ||
                (/^@carillon\//.test(target) && !(name === 'server' && /^@carillon\/(?:http2|postgres)$/.test(target)))
              );
            })
            .map((target) => `${name}: ${relative(root, path)} → ${target}`),
        ),
    );
    expect(strangers).toEqual([]);
  });

  it('lets tests, benchmarks and proofs share a rig and reach into nothing else of each other', () => {
    const stages = { rig: 'rig', bench: 'bench', proof: 'proof', tests: 'server/test' };
    const dirOf = (path: string) => Object.values(stages).find((dir) => path.startsWith(join(root, dir, '/')));
    const reaches = Object.values(stages).flatMap((dir) =>
      filesIn(join(root, dir)).flatMap((path) =>
        importsOf(path)
          .map((target) => dirOf(target))
          .filter((target) => target !== undefined && target !== dir && (target !== 'rig' || dir === 'rig'))
          .map((target) => `${relative(root, path)} → ${target}`),
      ),
    );
    expect(reaches).toEqual([]);
    expect(filesIn(join(root, 'rig')).length).toBeGreaterThan(20);
  });

  it('R-39 only outbound and the two packages connect to other hosts', () => {
    const outside = sources.filter((path) => roomOf(path) !== 'outbound' && goesOut(text.get(path) ?? ''));
    expect(outside.map((path) => relative(src, path)).sort()).toEqual([
      // Asks whether a text is an address.
      'ground/http/client-address.ts',
      // These two listen.
      'operation/metrics/server.ts',
      'operation/process/listen-port.ts',
      // Calls the sandbox at an address which the operator gives.
      'operation/seed/sandbox-devices.ts',
    ]);
    expect(sources.filter((path) => roomOf(path) === 'webhooks').length).toBeGreaterThan(5);
    const ofPackages = packaged.filter((path) => goesOut(text.get(path) ?? ''));
    expect(ofPackages.map((path) => relative(root, path)).sort()).toEqual([
      // Speaks over a connection that its caller has opened.
      'packages/http2/src/node-session.ts',
      // Finds the programs of the embedded server among the installed packages.
      'packages/postgres/src/embedded/programs.ts',
      // Connects to the database.
      'packages/postgres/src/wire.ts',
    ]);
  });

  it.each([
    "import { request } from 'node:https';",
    "import https from 'https';",
    "import 'node:net';",
    "const { connect } = await import('node:tls');",
    "const dns = require('node:dns/promises');",
    "import { createRequire } from 'node:module';",
    "process.getBuiltinModule('node:net');",
    'await fetch(endpoint);',
    'const send = globalThis.fetch;',
    'new WebSocket(endpoint);',
    "import { request } from 'undici';",
    "import { Worker } from 'node:worker_threads';\nnew Worker(code, { eval: true });",
  ])('R-39 the test would detect %j in a room', (line) => {
    expect(goesOut(line)).toBe(true);
  });

  it('R-106 texts are signed by one helper', () => {
    const words = /\b(?:createHmac|hkdf(?:Sync)?|hmacs?Sha256|timingSafeEqual|createSign|subtle)\b(?=[(.,\s}])/g;
    const asymmetric = /import \{[^}]*\bsign\b[^}]*\} from 'node:crypto'/;
    const found = sources.flatMap((path) => {
      const code = (text.get(path) ?? '').replace(/^\s*(?:\/\/|\*|\/\*).*$/gm, '');
      const used = new Set([...code.matchAll(words)].map(([word]) => word));
      if (asymmetric.test(code)) used.add('sign');
      return used.size > 0 ? [`${relative(src, path)}: ${[...used].sort().join()}`] : [];
    });
    expect(found.sort()).toEqual([
      'ground/http/bearer.ts: timingSafeEqual',
      'ground/secrets/hmac-sha256.ts: hmacSha256,hmacsSha256',
      'ground/secrets/signed-text.ts: createHmac,hkdfSync,hmacSha256,hmacsSha256,timingSafeEqual',
      // Compares digests of push tokens, and of the operator's bearer tokens.
      'people/devices/token.ts: timingSafeEqual',
      // JSON Web Tokens in the forms of Apple, Google and RFC 8292, by keys that do nothing else.
      'sending/channels/apns/provider-token.ts: sign',
      'sending/channels/fcm/access-token.ts: sign',
      // Tests by a fixed word, which is thrown away, that the halves of a key fit.
      'sending/channels/public-half.ts: sign',
      // Derives keys of encryption (RFC 8291). It signs nothing.
      'sending/channels/webpush/encrypt.ts: hmacSha256',
      'sending/channels/webpush/vapid.ts: sign',
      // Compares hashes of passwords.
      'teams/accounts/password.ts: timingSafeEqual',
    ]);
  });

  it('R-39 other programs are started only where a process, a sandbox or a database is started', () => {
    const startsPrograms = (path: string): boolean => /node:child_process/.test(text.get(path) ?? '');
    const rooms = sources.filter(startsPrograms).map(roomOf);
    expect([...new Set(rooms)].sort()).toEqual(['cli', 'process']);
    const folders = packaged.filter(startsPrograms).map((path) => relative(root, dirname(path)));
    expect([...new Set(folders)]).toEqual(['packages/postgres/src/embedded']);
  });

  it('has no SQL statement outside queries.ts, migrations and the room of the database', () => {
    const statement = /`\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/;
    const loose = sources.filter(
      (path) =>
        !/(queries|insert-many)\.ts$/.test(path) && roomOf(path) !== 'database' && statement.test(text.get(path) ?? ''),
    );
    // Printed but not enforced: a lock or a NOTIFY may read better inside an operation.
    if (loose.length > 0) console.info('SQL outside queries.ts:', loose.map((path) => relative(src, path)).join(', '));
    expect(sources.filter((path) => path.endsWith('queries.ts')).length).toBeGreaterThan(5);
  });

  it('reads the environment only in config.ts', () => {
    const readers = sources.filter((path) => /process\.env/.test((text.get(path) ?? '').replace(/^\s*\/\/.*$/gm, '')));
    expect(readers.map((path) => relative(src, path))).toEqual(['config.ts']);
  });
});
