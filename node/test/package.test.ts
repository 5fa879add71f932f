// Tests the package as a user gets it: packed, installed into an empty folder without a network,
// imported and type-checked there.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const compiler = join(root, 'node_modules/typescript/bin/tsc');

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

let folder = '';
let packed: Packed;

beforeAll(async () => {
  await run(process.execPath, [compiler, '-b', join(root, 'node')]);
  folder = await mkdtemp(join(tmpdir(), 'carillon-node-'));
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: join(root, 'node'),
  });
  [packed] = JSON.parse(stdout);
  await writeFile(join(folder, 'package.json'), '{ "name": "shop", "private": true }\n');
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(folder, packed.filename)], { cwd: folder });
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const inFolder = async (name: string, text: string): Promise<unknown> => {
  await writeFile(join(folder, name), text);
  return JSON.parse((await run(process.execPath, [join(folder, name)])).stdout);
};

const kinds = 'JSON.stringify([typeof it.verifyWebhook, typeof it.userToken, Object.keys(it).includes("signWebhook")])';

describe('the packed SDK', () => {
  it('holds the compiled files, their types, a page, its examples and the licence, and nothing else', async () => {
    const paths = packed.files.map(({ path }) => path);
    const modules = paths.filter((path) => path.endsWith('.js')).map((path) => path.replace(/\.js$/, ''));
    expect(modules).toContain('dist/index');
    const examples = ['express', 'fastify', 'hono', 'next'].map((name) => `examples/${name}.ts`);
    expect(paths.sort()).toEqual(
      [
        'LICENSE',
        'README.md',
        'package.json',
        ...examples,
        ...modules.flatMap((path) => [`${path}.js`, `${path}.d.ts`]),
      ].sort(),
    );
    expect(await readFile(join(root, 'node/LICENSE'), 'utf8')).toBe(await readFile(join(root, 'LICENSE'), 'utf8'));
  });

  it('needs no other package', async () => {
    const { dependencies, peerDependencies } = JSON.parse(await readFile(join(root, 'node/package.json'), 'utf8'));
    expect([dependencies, peerDependencies]).toEqual([undefined, undefined]);
    const installed = JSON.parse(await readFile(join(folder, 'package-lock.json'), 'utf8'));
    expect(Object.keys(installed.packages)).toEqual(['', 'node_modules/@carillon/node']);
  });

  it('can be imported by a module, and required by a CommonJS program', async () => {
    const expected = ['function', 'function', true];
    expect(await inFolder('shop.mjs', `import * as it from '@carillon/node'; console.log(${kinds})`)).toEqual(expected);
    expect(await inFolder('shop.cjs', `const it = require('@carillon/node'); console.log(${kinds})`)).toEqual(expected);
  });

  it.each(['nodenext', 'bundler'])(
    'has types that the compiler accepts, %s, without types of its own for Node',
    async (resolution) => {
      const uses = `
      import { Carillon, type Filter, verifyWebhook } from '@carillon/node';
      const carillon = new Carillon({ baseUrl: 'https://push.shop.example', apiKey: 'sk_live_1' });
      export const accepted = async (): Promise<number> =>
        (await carillon.messages.send({ audience: { all: true }, content: { title: 'Sale' } })).report.accepted;
      // @ts-expect-error an audience is one thing
      void (() => carillon.messages.send({ audience: { all: true, segment_id: 'seg_1' }, content: {} }));
      export const filter: Filter = { and: [{ field: 'country', op: 'eq', value: 'DE' }] };
      export function reasonOf(body: Uint8Array, header: string | undefined): string | null {
        const event = verifyWebhook(body, header, 'whsec_1');
        // @ts-expect-error a sent message has no reason
        if (event.event === 'message.sent') return event.data.provider_reason;
        return event.event === 'message.failed' ? event.data.provider_reason : null;
      }`;
      await writeFile(join(folder, 'shop.mts'), uses);
      const module = resolution === 'bundler' ? 'es2022' : resolution;
      const options = [
        '--strict',
        '--noEmit',
        '--target',
        'es2022',
        '--module',
        module,
        '--moduleResolution',
        resolution,
      ];
      const lib = ['--lib', 'es2022,dom,dom.iterable', '--types', '', '--exactOptionalPropertyTypes'];
      const { stdout } = await run(process.execPath, [compiler, ...options, ...lib, join(folder, 'shop.mts')], {
        cwd: folder,
      });
      expect(stdout).toBe('');
    },
  );
});
