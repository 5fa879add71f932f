// nghttpd, the server of the nghttp2 library: it returns every body. It never sends GOAWAY by
// itself, so it is killed and started again instead. With printing on, its output names the
// requests that it received.
import { spawnSync } from 'node:child_process';
import { certificateFile, keyFile } from '../../../rig/src/certificate.ts';
import { findFreePort } from '../../../rig/src/ports.ts';
import { findProgram, type Program, Scratch } from '../scratch.ts';
import { echoOf, type ForeignServer, type Mood } from './foreign-server.ts';
import { holdStill } from './signals.ts';

const program = findProgram('nghttpd');

/** The client resets answers that are longer. */
const bodyBytesMax = 8_000;

const moods: readonly Mood[] = [
  { name: 'bodies and answers of random sizes', bodyBytesMax, settings: { '--verbose': '' } },
  {
    name: 'two streams at once, no header table, padding and trailers',
    bodyBytesMax,
    settings: {
      '--verbose': '',
      '--max-concurrent-streams': 2,
      '--header-table-size': 0,
      '--encoder-header-table-size': 0,
      '--padding': 200,
      '--trailer': 'x-end: yes',
    },
  },
  {
    name: 'windows of one byte, and of three for all streams together',
    forgets: true,
    bodyBytesMax: 300,
    settings: { '--window-bits': 1, '--connection-window-bits': 2 },
    shows: ['windowUpdates'],
  },
  {
    // nghttpd drops a connection with more than a thousand reset streams and does not report all
    // requests that it acted upon.
    name: 'answers that are longer than we read',
    may: 'fail',
    forgets: true,
    disturbances: [0, 0],
  },
  {
    name: 'requests that we give up, their bodies under way',
    may: 'fail',
    bodyBytesMax,
    settings: { '--verbose': '', '--window-bits': 9 },
    timeoutsMs: [...Array.from({ length: 15 }, () => 60_000), 5],
    shows: ['timeouts'],
    disturbances: [20, 2],
  },
  { name: 'kills', may: 'fail', forgets: true, bodyBytesMax, shows: ['lost'], disturbances: [20, 2] },
];

export const nghttpd: ForeignServer = {
  name: 'nghttpd',
  debianPackage: 'nghttp2-server',
  echoesHeaders: false,
  moods,
  answerTo: echoOf,
  findVersion() {
    if (program === undefined) return undefined;
    const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
    return /nghttp2\/(\S+)/.exec(stdout)?.[1] ?? 'of an unknown version';
  },
  async start({ mood, workbench }) {
    const scratch = await Scratch.make(workbench, 'nghttpd');
    const port = await findFreePort();
    const options = Object.entries(mood.settings ?? {}).map(([name, value]) =>
      value === '' ? name : `${name}=${value}`,
    );
    const programs: Program[] = [];
    const launch = async () => {
      const running = await scratch.start(program ?? '', [
        '--echo-upload',
        '--address=127.0.0.1',
        `--htdocs=${scratch.directory}`,
        ...options,
        String(port),
        keyFile,
        certificateFile,
      ]);
      programs.push(running);
      await running.listensOn(port);
    };
    await launch();
    return {
      port,
      async disturb() {
        const serving = programs.at(-1);
        if (mood.timeoutsMs !== undefined) return holdStill(serving?.child.pid ?? 0);
        await serving?.stop('SIGKILL');
        await launch();
      },
      async stop() {
        await programs.at(-1)?.stop('SIGTERM');
        const words = await Promise.all(programs.map((each) => each.words()));
        await scratch.close();
        return words.flatMap(readHeard);
      },
    };
  },
};

function readHeard(words: string): number[] {
  return [...words.matchAll(/ x-id: (\d+)$/gm)].map(([, number]) => Number(number));
}
