// Runs the README's examples exactly as printed, in an empty folder, against the package as npm
// packs it. Only this package and the libraries that an example imports are there.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const run = promisify(execFile);
const source = fileURLToPath(new URL('..', import.meta.url));
const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'sandbox-readme-'));
const project = join(folder, 'project');

const blocks = [...readFileSync(join(source, 'README.md'), 'utf8').matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)];
const programs = blocks.flatMap(([, info, text = '']) => (info === 'js' ? [text] : []));
const commands = blocks.flatMap(([, info, text = '']) => (info === 'sh' ? text.trim().split('\n') : []));

const closing: (() => Promise<unknown>)[] = [];
let addresses: { control: string; certificate_file: string };

beforeAll(async () => {
  const built = join(folder, 'built');
  for (const part of ['package.json', 'README.md', 'bin', 'page']) {
    cpSync(join(source, part), join(built, part), { recursive: true });
  }
  const compiler = join(modules, 'typescript/bin/tsc');
  const output = ['--outDir', join(built, 'dist'), '--tsBuildInfoFile', join(folder, '.tsbuildinfo')];
  await run(process.execPath, [compiler, '-p', source, ...output]);
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: built,
  });
  const [{ filename }] = JSON.parse(stdout);
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{"type": "module"}');
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(folder, filename)], { cwd: project });
  for (const library of ['web-push', '@parse/node-apn', 'firebase-admin']) {
    mkdirSync(join(project, 'node_modules', library, '..'), { recursive: true });
    symlinkSync(join(modules, library), join(project, 'node_modules', library));
  }

  const parameters = ['--port', '0', '--push-port', '0', '--json'];
  const child = spawn(join(project, 'node_modules/.bin/carillon-sandbox'), parameters, {
    cwd: project,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  closing.push(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  addresses = JSON.parse(line);
});

afterAll(async () => {
  for (const close of closing) await close();
  rmSync(folder, { recursive: true, force: true });
});

const here = (text: string): string => text.replaceAll('http://127.0.0.1:8090', addresses.control);

const libraryOf = (text: string): string =>
  /from '(web-push|@parse\/node-apn|firebase-admin\/app)'/.exec(text)?.[1] ?? '';

/** The output of a program, and the output that its comments promise. */
async function runProgram(text: string): Promise<{ printed: string; promised: string[] }> {
  const file = join(project, `example-${programs.indexOf(text)}.js`);
  writeFileSync(file, here(text));
  const environment = { ...process.env, NODE_EXTRA_CA_CERTS: addresses.certificate_file };
  const { stdout } = await run(process.execPath, [file], { cwd: project, env: environment });
  const promised = [...text.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, words = '']) => words);
  return { printed: stdout, promised };
}

describe('the README', () => {
  test('has an example for each provider', () => {
    expect(new Set(programs.map(libraryOf))).toEqual(new Set(['web-push', '@parse/node-apn', 'firebase-admin/app']));
  });

  test.each(programs.map((text) => [libraryOf(text), text]))(
    'the example with %s prints what the README says',
    async (_library, text) => {
      const { printed, promised } = await runProgram(text);
      expect(promised.length).toBeGreaterThan(0);
      for (const words of promised) {
        // An ellipsis stands for anything, white space for white space.
        const parts = words.split('…').map((part) => part.trim().replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
        const pattern = parts.map((part) => part.replace(/\s+/g, '\\s+')).join('[\\s\\S]*');
        expect(printed).toMatch(new RegExp(pattern));
      }
    },
  );

  test('each fault document is accepted as printed', async () => {
    const documents = blocks.flatMap(([, info, text = '']) => (info === 'json' ? [JSON.parse(text)] : []));
    expect(documents.length).toBeGreaterThanOrEqual(3);
    for (const document of documents) {
      const body = JSON.stringify('faults' in document ? document : { faults: [document] });
      const answer = await fetch(`${addresses.control}/faults`, { method: 'PUT', body });
      expect([answer.status, await answer.json()]).toEqual([200, expect.anything()]);
    }
    await fetch(`${addresses.control}/faults`, { method: 'DELETE' });
  });

  test('the curl commands are answered', async () => {
    expect(commands.length).toBeGreaterThanOrEqual(5);
    for (const command of commands) {
      const { stdout } = await run('sh', ['-c', here(command).replace('curl -s', 'curl -sS --fail-with-body')]);
      if (!command.includes('-X DELETE')) expect(JSON.parse(stdout)).toBeTypeOf('object');
    }
  });
});
