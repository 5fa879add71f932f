// The sandbox as the service knows it: a program with addresses. It runs from its sources in a
// process of its own and is used only through its HTTP API.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { whenDone } from '../../../rig/src/when-done.ts';

export interface SandboxProcess {
  readonly certificate: string;
  readonly pushPort: number;
  readonly apnsPort: number;
  readonly fcmPort: number;
  /** The environment of a service that must reach the sandbox. */
  readonly environment: Readonly<Record<string, string>>;
  /** Calls the control API. Rejects when the call is refused. */
  call<Json>(method: string, path: string, body?: object): Promise<Json>;
}

const program = new URL('../../../sandbox/src/main.ts', import.meta.url).href;
const script = `const { main } = await import(${JSON.stringify(program)}); process.exitCode = await main(process.argv.slice(1));`;

/** Runs until the test file is done. */
export async function startSandbox(...parameters: string[]): Promise<SandboxProcess> {
  const directory = mkdtempSync(join(tmpdir(), 'carillon-sandbox-'));
  const given = ['--port=0', '--push-port=0', '--json', `--data-dir=${directory}`, ...parameters];
  const child = spawn(
    process.execPath,
    ['--import', import.meta.resolve('tsx'), '--input-type=module', '--eval', script, '--', ...given],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const ended = once(child, 'exit');
  whenDone(async () => {
    child.kill('SIGTERM');
    await ended;
    rmSync(directory, { recursive: true, force: true });
  });
  const said = once(createInterface({ input: child.stdout }), 'line').then(([line]) => JSON.parse(line));
  const addresses = await Promise.race([said, ended.then(() => Promise.reject(new Error('the sandbox has ended')))]);
  const portOf = (url: string) => Number(new URL(url).port);
  return {
    certificate: readFileSync(addresses.certificate_file, 'utf8'),
    pushPort: addresses.push_port,
    apnsPort: portOf(addresses.apns_url),
    fcmPort: portOf(addresses.fcm_url),
    environment: addresses.environment,
    async call(method, path, body) {
      const response = await fetch(addresses.control + path, { method, ...(body && { body: JSON.stringify(body) }) });
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
      return text === '' ? undefined : JSON.parse(text);
    },
  };
}
