// `sandbox -- COMMAND`: the command beside the sandbox, and what remains after a stop. A test sees
// the end of a program by its connection: a dead process keeps its pid until its parent asks for
// its status, but it keeps no socket.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface, type Interface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { whenDone } from '../../../rig/src/when-done.ts';
import { endGroup } from '../../src/operation/cli/command-group.ts';
import { programArguments, setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();

/** A service as npm runs it: behind a shell that stays and passes no signal on. */
const behindShell = (script: string): string[] => ['sh', '-c', `"${process.execPath}" -e "${script}"; exit 0`];

/**
 * A program that listens, prints its port, and runs `atStop` when it is stopped. `atStop` is
 * JavaScript without double quotes.
 */
const listening = (atStop: string): string => `
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => { ${atStop} });
  const server = require('net').createServer(() => {});
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));`;

/** Runs a program that is killed when the test ends. */
function launch(program: string, parameters: string[], { detached }: { detached: boolean }) {
  const child = spawn(program, parameters, {
    detached,
    cwd: cli.directory,
    env: { ...cli.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  whenDone(async () => void child.kill('SIGKILL'));
  return { child, ended: once(child, 'exit'), lines: createInterface({ input: child.stdout }) };
}

async function connectTo(lines: Interface): Promise<{ port: number; socket: Socket }> {
  const [port] = (await once(lines, 'line')) as [string];
  const socket = connect(Number(port), '127.0.0.1');
  await once(socket, 'connect');
  return { port: Number(port), socket };
}

async function refusalOf(port: number): Promise<string> {
  const [error] = (await once(connect(port, '127.0.0.1'), 'error')) as [NodeJS.ErrnoException];
  return error.code ?? '';
}

describe('sandbox -- COMMAND', () => {
  it("runs a command with the sandbox's environment, and ends with the command's status", async () => {
    const script = 'console.log(process.env.PUSH_HOSTS, process.env.OUTBOUND_CA_FILE)';
    const done = await cli.run('sandbox', '--port', '0', '--', process.execPath, '-e', script);
    expect(done.status).toBe(0);
    expect(done.stdout).toMatch(/^localhost \S+sandbox-certificate\.pem/);
    const [, inbox = ''] = /inbox of simulated devices is on (http:\S+);/.exec(done.stderr) ?? [];
    expect(inbox).toMatch(/^http:/);
    // The sandbox has ended with the command.
    await expect(fetch(inbox)).rejects.toThrow();
    expect((await cli.run('sandbox', '--port', '0', '--', process.execPath, '-e', 'process.exit(3)')).status).toBe(1);
    expect(await cli.run('sandbox', '--port', '0', '--', 'no-such-program')).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/carillon: no-such-program cannot be run/),
    });
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'stopped by %s, it stops a service behind a shell, and keeps the push services until that has ended',
    async (signal) => {
      // A push that the service has begun still reaches a push service.
      const atStop = `
        const { hostname, port } = new URL(process.env.FCM_URL);
        require('net').connect(port, hostname, () => { console.log('reached'); process.exit(); })
          .on('error', (error) => { console.log(error.code); process.exit(); });`;
      const { child, ended, lines } = launch(
        process.execPath,
        programArguments('sandbox', '--port', '0', '--', ...behindShell(listening(atStop))),
        { detached: false },
      );
      const { port } = await connectTo(lines);
      const last = once(lines, 'line');
      // A supervisor signals this one process, which is the hardest case: a terminal signals all of
      // them.
      child.kill(signal);
      expect(await last).toEqual(['reached']);
      await ended;
      expect(await refusalOf(port)).toBe('ECONNREFUSED');
    },
  );
});

describe('endGroup', () => {
  it('kills a group that ignores SIGTERM, and returns at once when only dead processes are left', async () => {
    const { child, lines } = launch('sh', behindShell(listening('')).slice(1), { detached: true });
    const { socket } = await connectTo(lines);
    // The connection of a killed program may end in an error.
    const closed = new Promise((resolve) =>
      socket
        .on('error', () => undefined)
        .resume()
        .once('close', resolve),
    );
    const group = child.pid ?? 0;
    process.kill(-group, 'SIGTERM');
    await endGroup(group, 0);
    await closed;
    // Otherwise a second call would wait forever for a dead process whose status nobody reads.
    await endGroup(group, Number.POSITIVE_INFINITY);
  });
});
