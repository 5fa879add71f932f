// A server, or something in front of it, that does not keep to the protocol. It costs a connection,
// and never the process or the time of everybody who waits.
import { readFileSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { createSecureContext, TLSSocket } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { certificateFile, keyFile } from '../../../rig/src/certificate.ts';
import { isDatabaseDown, isPoolClosed, openPool, type Sql, transaction } from '../src/db.ts';
import { createTestDatabase } from './database.ts';
import { startFront, type TakeConnection } from './database-front.ts';

const { url, sql: admin } = await createTestDatabase();

/** Without a limit for a statement, so that nothing but the wrong message ends it. */
function pool(way: string): Sql {
  const sql = openPool({ url: way, connectionsMax: 1, name: 'broken', statementTimeoutMs: 0 });
  onTestFinished(() => sql.end({ timeout: 1 }));
  return sql;
}

function message(letter: string, ...body: (number | string)[]): Buffer {
  const bytes = Buffer.concat(body.map((part) => (typeof part === 'string' ? Buffer.from(part) : int32(part))));
  return Buffer.concat([Buffer.from(letter), int32(bytes.length + 4), bytes]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

const wrongMessages: readonly [string, Buffer][] = [
  ['a sign-in that nobody knows (GSSAPI)', message('R', 7)],
  ['a sign-in that nobody knows (Kerberos)', message('R', 2)],
  ['a message that nobody knows', message('y', 'what?')],
  ['a description of columns that is cut off', message('T', '\0\x09', 'column')],
  ['a row that is cut off', message('D', '\0\x01', '\0\0')],
  ['an error without its end', message('E', 'SERROR\0C42601\0Mwrong\0')],
  ['a length that does not count itself', Buffer.from('Z\0\0\0\0I')],
];

/**
 * Answers the first statement with the word `wrong` with these bytes, and passes everything else
 * on.
 */
function wrongOnce(bytes: Buffer): TakeConnection {
  let isDone = false;
  return (raw, reach) => answerWrong(raw, reach());
  function answerWrong(near: Duplex, far: Duplex): void {
    near.on('data', (chunk: Buffer) => {
      if (isDone || !chunk.includes('wrong')) return void far.write(chunk);
      isDone = true;
      near.write(bytes);
    });
    near.on('close', () => far.destroy());
    far.pipe(near);
  }
}

describe('R-06 a connection ends, and the process goes on, after', () => {
  it.each([...wrongMessages, ['an answer', message('D', '\0\0')] as const])(
    '%s instead of a sign-in',
    async (_what, bytes) => {
      let connections = 0;
      const front = await startFront(url, (raw, reach) => {
        if (connections++ === 0) raw.once('data', () => raw.write(bytes));
        else raw.pipe(reach()).pipe(raw);
      });
      const sql = pool(front);
      await expect(sql`SELECT 1`).rejects.toSatisfy(isDatabaseDown);
      expect(await sql`SELECT 1 AS one`).toEqual([{ one: 1 }]);
    },
  );

  it.each(wrongMessages)('%s instead of an answer', async (_what, bytes) => {
    const sql = pool(await startFront(url, wrongOnce(bytes)));
    await expect(sql`SELECT 'wrong'`).rejects.toSatisfy(isDatabaseDown);
    expect(await sql`SELECT 1 AS one`).toEqual([{ one: 1 }]);
  });

  it('the same over TLS', async () => {
    const secureContext = createSecureContext({ cert: readFileSync(certificateFile), key: readFileSync(keyFile) });
    const passOn = wrongOnce(message('R', 7));
    const front = await startFront(url, (raw, reach) => {
      raw.once('data', () => {
        raw.write('S');
        const secured = new TLSSocket(raw, { isServer: true, secureContext });
        secured.on('error', () => undefined);
        passOn(secured, reach);
      });
    });
    const sql = pool(`${front}?sslmode=require`);
    await expect(sql`SELECT 'wrong'`).rejects.toMatchObject({ code: '08P01' });
    expect(await sql`SELECT 1 AS one`).toEqual([{ one: 1 }]);
  });

  it.each([
    ['a word', message('R', 3)],
    ['a proof', message('R', 10, 'SCRAM-SHA-256\0\0')],
  ])(
    'a question for a password, %s, where the address has none: it is as wrong as a wrong one',
    async (_what, bytes) => {
      const front = await startFront('postgres://carillon@127.0.0.1:1/carillon', (raw) => {
        raw.once('data', () => raw.write(bytes));
      });
      await expect(pool(front)`SELECT 1`).rejects.toMatchObject({ code: '28P01' });
    },
  );
});

it('R-07 a value that cannot be read leaves the outcome open, and never a refused transaction that is stored', async () => {
  await admin`CREATE TABLE unread (x int)`;
  const front = await startFront(url, (raw, reach) => {
    const far = reach();
    raw.pipe(far);
    far.on('data', (chunk: Buffer) => {
      const at = chunk.indexOf('{"a":');
      if (at >= 0) chunk.write('!', at);
      raw.write(chunk);
    });
    far.on('close', () => raw.destroy());
  });
  const swallowing = transaction(pool(front), async (tx) => {
    const all = [tx`INSERT INTO unread VALUES (1)`, tx`SELECT '{"a":1}'::json AS document`, tx`SELECT 2 AS two`];
    const [first, second, third] = await Promise.allSettled(all);
    expect([first, second, third].map((each) => each?.status)).toEqual(['rejected', 'rejected', 'rejected']);
  });
  await expect(swallowing).rejects.toSatisfy(isDatabaseDown);
  expect(await admin`SELECT x FROM unread`).toEqual([]);
});

it('R-96 a statement that cannot be written as a message is refused as itself, and nothing of its exchange is done', async () => {
  await admin`CREATE TABLE unwritten (x int)`;
  const sql = pool(url);
  const unwritable = Object.defineProperty(Buffer.from('x'), 'length', {
    get() {
      throw new RangeError('no length');
    },
  });
  const refused = transaction(sql, (tx) =>
    Promise.all([tx`INSERT INTO unwritten VALUES (1)`, tx`SELECT ${unwritable}::bytea`]),
  );
  const error = await refused.catch((reason: unknown) => reason);
  expect(error).toMatchObject({ message: 'no length' });
  // Otherwise the work would be tried again for ever, or never again.
  expect([isDatabaseDown(error), isPoolClosed(error)]).toEqual([false, false]);
  expect(await sql`SELECT x FROM unwritten`).toEqual([]);
});
