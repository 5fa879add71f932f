import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createLog } from './log.ts';
import { LogLines, linesDropped } from './log-lines.ts';

const turn = () => new Promise(setImmediate);
const refusal = (code: string) => Object.assign(new Error(code), { code });

/** A log over a destination of `room` bytes, which refuses the rest. */
function setup(code = 'ENOSPC') {
  const place = { room: Number.POSITIVE_INFINITY, text: '' };
  const lines = new LogLines((bytes, offset) => {
    const taken = Math.min(place.room, bytes.length - offset);
    if (taken === 0) throw refusal(code);
    place.room -= taken;
    place.text += Buffer.from(bytes.subarray(offset, offset + taken)).toString('latin1');
    return taken;
  });
  const log = createLog('info', 'test', lines);
  const read = (): Record<string, unknown>[] =>
    place.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  return { place, lines, log, read };
}

describe('R-101 the log', () => {
  it('writes every line, in order', async () => {
    const { log, read } = setup();
    for (let n = 0; n < 3; n++) log.info({ n }, 'x');
    await turn();
    expect(read()).toMatchObject([{ n: 0 }, { n: 1 }, { n: 2 }]);
  });

  it.each(['ENOSPC', 'EPIPE', 'EAGAIN', 'EIO', 'EBADF'])(
    'drops what finds no room, counts it and tells it in one line: %s',
    async (code) => {
      const { place, lines, log, read } = setup(code);
      place.room = 0;
      const before = linesDropped();
      for (let n = 0; n < 30_000; n++) log.info({ n }, 'one of many lines');
      await turn();
      const dropped = linesDropped() - before;
      expect(dropped).toBeGreaterThan(0);
      place.room = Number.POSITIVE_INFINITY;
      lines.flushSync();
      lines.flushSync();
      const found = read();
      expect(found).toHaveLength(30_000 - dropped + 1);
      expect(found.at(-1)).toMatchObject({ level: 50, dropped });
    },
  );

  it('writes whole lines in pieces that do not mix with those of other processes in a pipe', async () => {
    const pieces: string[] = [];
    const lines = new LogLines((bytes) => {
      pieces.push(Buffer.from(bytes).toString());
      return bytes.length;
    });
    const given = [
      ...Array.from({ length: 100 }, (_, n) => `${n} ${'é'.repeat(300)}\n`),
      `${'x'.repeat(9000)}\n`,
      'y\n',
    ];
    for (const line of given) lines.write(line);
    await turn();
    expect(pieces.join('')).toBe(given.join(''));
    expect(pieces.filter((piece) => !piece.endsWith('\n'))).toEqual([]);
    const long = pieces.filter((piece) => Buffer.byteLength(piece) > 4096);
    expect(long).toEqual([given.at(-2)]);
    expect(pieces.length).toBeLessThan(30);
  });

  it('goes on inside a line whose first part was written, at any byte', async () => {
    for (const room of [1, 40, 93]) {
      const { place, lines, log, read } = setup();
      place.room = room;
      log.info({ n: 1, word: 'é😀' }, 'x');
      log.info({ n: 2 }, 'y');
      await turn();
      expect(place.text).toHaveLength(room);
      place.room = Number.POSITIVE_INFINITY;
      lines.flushSync();
      expect(read()).toMatchObject([{ n: 1 }, { n: 2 }]);
    }
  });

  it('is tried again by itself, without another line', async () => {
    const { place, log, read } = setup('EAGAIN');
    place.room = 0;
    log.info('kept');
    await turn();
    place.room = Number.POSITIVE_INFINITY;
    while (place.text === '') await turn();
    expect(read()).toMatchObject([{ msg: 'kept' }]);
  });

  it('neither throws nor stops where the destination takes nothing and says so', async () => {
    const log = createLog('info', 'test', new LogLines(() => 0));
    log.fatal('x');
    await turn();
  });
});

/** A process that logs lines of 300 bytes at once, and says so on its standard output. */
function startTalker(end: string, lines = 20_000): ChildProcess {
  const program = `
    import { createLog } from ${JSON.stringify(new URL('log.ts', import.meta.url).href)};
    const log = createLog('info', 'talker');
    for (let n = 0; n < ${lines}; n++) log.info({ n, pad: 'x'.repeat(200) }, 'line');
    process.stdout.write('said');
    ${end}`;
  return spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

const untilTold = `process.stdin.once('data', () => process.exit(0));`;

describe('R-101 the log of a process', () => {
  it('waits for no reader, and tells the reader who comes late what was dropped', async () => {
    const child = startTalker(untilTold);
    if (!child.stdout || !child.stderr) throw new Error('no pipes');
    const [said] = await once(child.stdout, 'data');
    expect(String(said)).toBe('said');
    let log = '';
    for await (const piece of child.stderr) {
      log += piece;
      if (log.includes('were dropped')) child.stdin?.write('end');
    }
    const found = log
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(found.at(-1)).toMatchObject({ role: 'talker', dropped: 20_000 - (found.length - 1) });
  });

  it('goes on where the reader has gone', async () => {
    const child = startTalker(untilTold);
    child.stderr?.destroy();
    if (!child.stdout) throw new Error('no pipe');
    await once(child.stdout, 'data');
    child.stdin?.write('end');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('has the last line of a process that ends of a fault', async () => {
    const end = `(await import(${JSON.stringify(new URL('log.ts', import.meta.url).href)}))
      .dieOfTheUnforeseen(log); setTimeout(() => { log.info('before'); throw new Error('unforeseen'); }, 50);`;
    // The lines fit into the pipe, because an ending process waits only a moment for its reader.
    const child = startTalker(end, 100);
    if (!child.stderr) throw new Error('no pipe');
    const [log, [status]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect(status).toBe(1);
    const last = log
      .trimEnd()
      .split('\n')
      .slice(-2)
      .map((line) => JSON.parse(line));
    expect(last).toMatchObject([{ msg: 'before' }, { level: 60, err: { message: 'unforeseen' } }]);
  });
});
