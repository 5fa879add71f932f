import { mkdtemp, readFile, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Reject, RejectFile, writeAll } from './reject-file.ts';

const format = { kind: 'ndjson', header: null, delimiter: ',' } as const;

async function newPath(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'carillon-rejects-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  return join(directory, 'list.ndjson');
}

function rejectOf(line: number): Reject {
  const record = { line, bytes: Buffer.from('{}'), fault: null, after: { offset: 0, line: 0 } };
  return { record: record as unknown as Reject['record'], sentences: ['One.', 'Two.'] };
}

describe('the list of rejected lines', () => {
  it('names each reason of a line', async () => {
    const list = new RejectFile(await newPath(), format);
    await list.write(0, [rejectOf(1)]);
    await list.close();
    expect(JSON.parse(await readFile(list.path, 'utf8'))).toEqual({ line: 1, reason: 'One. Two.', row: {} });
  });

  it('goes on after the lines that an earlier run wrote and recorded', async () => {
    const first = new RejectFile(await newPath(), format);
    const end = await first.write(0, [rejectOf(1)]);
    await first.write(end, [rejectOf(2)]);
    await first.close();
    const second = new RejectFile(first.path, format);
    await second.write(end, [rejectOf(3)]);
    await second.close();
    const lines = (await readFile(first.path, 'utf8')).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).line)).toEqual([1, 3]);
  });

  it.each([
    ['shorter than recorded', (path: string) => truncate(path, 10)],
    ['gone', (path: string) => rm(path)],
  ])('is not started again where it is %s: the import stops, and the rest of the list stays', async (_what, spoil) => {
    const first = new RejectFile(await newPath(), format);
    const end = await first.write(0, [rejectOf(1)]);
    await first.close();
    await spoil(first.path);
    const left = await readFile(first.path, 'utf8').catch(() => null);
    const second = new RejectFile(first.path, format);
    await expect(second.write(end, [rejectOf(2)])).rejects.toThrow(/lacks lines that an earlier run wrote/);
    await second.close();
    expect(await readFile(first.path, 'utf8').catch(() => null)).toBe(left);
  });
});

describe('a disk that takes a part of a write', () => {
  const diskOf = (...takes: number[]) => {
    const taken = Buffer.alloc(8);
    const file = {
      async write(bytes: Buffer, from: number, length: number, at: number) {
        const bytesWritten = Math.min(length, takes.shift() ?? 0);
        bytes.copy(taken, at, from, from + bytesWritten);
        return { bytesWritten, buffer: bytes };
      },
    };
    return { taken, file: file as unknown as Parameters<typeof writeAll>[0] };
  };

  it('is given the rest', async () => {
    const { taken, file } = diskOf(3, 1, 2);
    await writeAll(file, Buffer.from('abcdef'), 2);
    expect(taken.toString()).toBe('\0\0abcdef');
  });

  it('that takes nothing more fails the write, so that nothing is recorded as written', async () => {
    await expect(writeAll(diskOf(3).file, Buffer.from('abcdef'), 0)).rejects.toMatchObject({ code: 'ENOSPC' });
  });
});
