// The fault proxy in front of a database, with a cut that networks make only by chance: between a
// COMMIT and its reply. It reads only enough of PostgreSQL's protocol to see a COMMIT.
import { type FaultProxy, startFaultProxy, type Watch } from './fault-proxy.ts';

/**
 * `lost`: the COMMIT never arrives. `unheard`: the COMMIT arrives and is carried out, and its reply
 * is lost.
 */
export type CommitCut = 'lost' | 'unheard';

export interface DatabaseProxy {
  /** The database's address through the proxy. */
  readonly url: string;
  readonly proxy: FaultProxy;
  /**
   * Cuts the next COMMIT of a connection with this application name, once. Resolves when the
   * connection is cut.
   */
  cutNextCommit(cut: CommitCut, application: string): Promise<void>;
}

interface Order {
  readonly cut: CommitCut;
  readonly application: string;
  readonly done: () => void;
}

/** `url` is in libpq's form; a unix socket is given as `?host=/directory`. */
export async function startDatabaseProxy(url: string): Promise<DatabaseProxy> {
  const address = new URL(url);
  const directory = address.searchParams.get('host');
  const port = Number(address.port || 5432);
  const target = directory === null ? { host: address.hostname, port } : { path: `${directory}/.s.PGSQL.${port}` };
  const orders = new Set<Order>();
  const proxy = await startFaultProxy(target, () => watchCommits(orders));
  address.searchParams.delete('host');
  address.hostname = '127.0.0.1';
  address.port = String(proxy.port);
  return {
    url: address.href,
    proxy,
    cutNextCommit: (cut, application) =>
      new Promise((resolve) => void orders.add({ cut, application, done: () => resolve() })),
  };
}

function watchCommits(orders: Set<Order>): Watch {
  let rest = Buffer.alloc(0);
  let application: string | undefined;
  /**
   * Names of this connection's prepared statements that are a COMMIT; the unnamed statement may be
   * one.
   */
  const commits = new Set<string>();

  /**
   * Reads one message from the front of `rest` and says whether it carries out a COMMIT. Undefined:
   * the message is not complete yet.
   */
  const readOne = (): boolean | undefined => {
    // The first message has a length and no type (PostgreSQL protocol, 53.7).
    const typeBytes = application === undefined ? 0 : 1;
    if (rest.length < typeBytes + 4) return undefined;
    const end = typeBytes + rest.readUInt32BE(typeBytes);
    if (rest.length < end) return undefined;
    const type = typeBytes === 0 ? '' : String.fromCharCode(rest[0] ?? 0);
    const texts = rest
      .subarray(typeBytes + 4, end)
      .toString('latin1')
      .split('\0');
    rest = rest.subarray(end);
    if (type === '') {
      // A client that wants TLS first asks in eight bytes.
      if (end === 8) return false;
      application = texts[texts.indexOf('application_name') + 1] ?? '';
      return false;
    }
    const [first = '', second = ''] = texts;
    if (type === 'P') {
      if (/^\s*commit\s*$/i.test(second)) commits.add(first);
      else commits.delete(first);
    }
    return (type === 'Q' && /^\s*commit\s*(?:;\s*)?$/i.test(first)) || (type === 'B' && commits.has(second));
  };

  return {
    ofClient(chunk) {
      rest = Buffer.concat([rest, chunk]);
      for (let isCommit = readOne(); isCommit !== undefined; isCommit = readOne()) {
        const order = isCommit ? [...orders].find((each) => each.application === application) : undefined;
        if (!order) continue;
        orders.delete(order);
        order.done();
        return order.cut === 'lost' ? 'cut' : 'mute';
      }
      return 'pass';
    },
  };
}
