// `node:http2` as a server in a process of its own: the only one of the four servers that can do
// anything to a single stream.
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findFreePort } from '../../../rig/src/ports.ts';
import { Scratch } from '../scratch.ts';
import {
  echoOf,
  type ForeignServer,
  type Mood,
  mostlyShort,
  readNumbers,
  shortPath,
  streamsMax,
} from './foreign-server.ts';

const program = fileURLToPath(new URL('node-server-process.ts', import.meta.url));

/**
 * Our client cancels a long answer and may send its next request in the same packet. `node:http2`
 * still counts the cancelled stream then (`Http2Session::CanAddStream`): at its limit of streams it
 * resets that request with ENHANCE_YOUR_CALM. Where every request must be answered, all answers are
 * short, or the limit is above what our client uses.
 */
const allShort: readonly string[] = [shortPath];
const moreStreamsThanUsed = 2 * streamsMax;

/** Each mood's `fault` is the order to the server's process. */
const moods: readonly Mood[] = [
  {
    name: 'bodies and answers of random sizes',
    paths: mostlyShort,
    settings: { maxConcurrentStreams: moreStreamsThanUsed },
  },
  { name: 'as many streams as it allows', paths: allShort },
  {
    name: 'resets of all kinds, before the answer and in its middle',
    may: 'fail',
    paths: mostlyShort,
    settings: { fault: 'resets' },
    shows: ['resets', 'refusals'],
  },
  {
    name: 'GOAWAY in mid-flight',
    may: 'refuse',
    paths: allShort,
    settings: { fault: 'goaway' },
    shows: ['goaways'],
  },
  {
    name: 'windows of 90 bytes',
    settings: { initialWindowSize: 90 },
    shows: ['windowUpdates'],
    bodyBytesMax: 4_096,
  },
  {
    name: 'SETTINGS that shrink and grow while bodies are under way',
    may: 'refuse',
    paths: allShort,
    settings: { fault: 'settings', maxConcurrentStreams: 60 },
    shows: ['settings'],
    bodyBytesMax: 30_000,
  },
  { name: 'connections cut', may: 'fail', paths: mostlyShort, shows: ['lost'], disturbances: [25, 2] },
];

export const nodeServer: ForeignServer = {
  name: 'node:http2',
  debianPackage: 'nodejs',
  echoesHeaders: true,
  moods,
  answerTo: echoOf,
  findVersion: () => process.versions.node,
  async start({ mood, seed, workbench }) {
    const scratch = await Scratch.make(workbench, 'node-server');
    const port = await findFreePort();
    const actedFile = scratch.path('acted.log');
    const orders = JSON.stringify({ ...mood.settings, port, seed, actedFile });
    const running = await scratch.start(process.execPath, ['--import', import.meta.resolve('tsx'), program, orders]);
    await running.listensOn(port);
    return {
      port,
      async disturb() {
        running.child.kill('SIGUSR2');
        await sleep(20);
      },
      async stop() {
        await running.stop('SIGTERM');
        const log = await readFile(actedFile, 'utf8');
        await scratch.close();
        return readNumbers(log);
      },
    };
  },
};
