// Callers that write users, devices and scheduled messages without a pause and remember each
// acknowledged write. They forget every write that was not answered with 200.

import type { Sql } from '@carillon/postgres';
import { createRandom } from '../../../rig/src/random.ts';
import { decodeId, type IdPrefix, type Uuid } from '../../../server/src/ground/values/ids.ts';

export interface Writers {
  /** Writes acknowledged so far. */
  readonly acknowledged: number;
  /** Directs the writers to this address; undefined pauses them. */
  goOnAt(url: string | undefined): void;
  /** A sentence for each acknowledged write that the database does not have. */
  listLost(sql: Sql): Promise<string[]>;
  /** Resolves when all requests have ended. */
  stop(): Promise<void>;
}

const writersAtOnce = 6;
const scheduledAheadMs = 30 * 86_400_000;

type Kind = 'user' | 'device' | 'message';

const prefixes: Readonly<Record<Kind, IdPrefix>> = { user: 'usr', device: 'dev', message: 'msg' };

function requestOf(kind: Kind, name: string, token: string): readonly [path: string, body: object] {
  if (kind === 'user') return ['/v1/users', { external_id: name, first_name: 'Ada', properties: { name } }];
  if (kind === 'device') return ['/v1/devices', { platform: 'ios', token }];
  const send_at = new Date(Date.now() + scheduledAheadMs).toISOString();
  return ['/v1/messages', { audience: { all: true }, content: { title: name }, send_at }];
}

export function startWriting(serverKey: string, seed: number): Writers {
  const acknowledged: Record<Kind, Uuid[]> = { user: [], device: [], message: [] };
  let url: string | undefined;
  let isStopping = false;
  let wake: () => void = () => {};
  let woken = Promise.resolve();
  const goOnAt = (next: string | undefined) => {
    url = next;
    if (next === undefined) {
      woken = new Promise((resolve) => {
        wake = resolve;
      });
    } else wake();
  };
  goOnAt(undefined);

  const writeInTurn = async (number: number) => {
    const random = createRandom(seed + number);
    for (let i = 0; !isStopping; i += 1) {
      await woken;
      if (url === undefined) continue;
      const kind = random.pick(['user', 'user', 'device', 'message'] as const);
      const [path, body] = requestOf(kind, `writer-${number}-${i}`, random.bytes(32).toString('hex'));
      const id = await write(`${url}${path}`, serverKey, body).catch(() => undefined);
      if (id === undefined) continue;
      const uuid = decodeId(prefixes[kind], id);
      if (uuid === undefined) throw new Error(`${path} answered with the id ${id}`);
      acknowledged[kind].push(uuid);
    }
  };
  const writing = Promise.all(Array.from({ length: writersAtOnce }, (_, number) => writeInTurn(number)));
  writing.catch(() => undefined);

  return {
    get acknowledged() {
      return acknowledged.user.length + acknowledged.device.length + acknowledged.message.length;
    },
    goOnAt,
    async listLost(sql) {
      const lost: string[] = [];
      for (const kind of ['user', 'device', 'message'] as const) {
        const ids = acknowledged[kind];
        const rows = await sql<{ id: Uuid }[]>`SELECT id FROM ${sql(`${kind}s`)} WHERE id = ANY(${ids}::uuid[])`;
        const there = new Set(rows.map(({ id }) => id));
        lost.push(...ids.filter((id) => !there.has(id)).map((id) => `${kind} ${id}`));
      }
      return lost;
    },
    async stop() {
      isStopping = true;
      wake();
      await writing;
    },
  };
}

/** The id in a 200; undefined for any other answer. */
async function write(url: string, serverKey: string, body: object): Promise<string | undefined> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${serverKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const { id } = (await response.json()) as { readonly id?: string };
  return response.status === 200 ? id : undefined;
}
