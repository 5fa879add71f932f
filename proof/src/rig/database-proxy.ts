// The fault proxy in front of a database, and the cut that no network makes on purpose: between a COMMIT and its reply.
// Reads of PostgreSQL's protocol only what it takes to see a COMMIT go by.
import { type FaultProxy, startFaultProxy, type Watch } from './fault-proxy.ts';

/** `lost`: the COMMIT never arrives. `unheard`: it arrives and is carried out, and its reply is not heard. */
export type CommitCut = 'lost' | 'unheard';

export interface DatabaseProxy {
  /** The database's address by way of the proxy. */
  readonly url: string;
  readonly proxy: FaultProxy;
  /** Cuts the next COMMIT of a connection with this application name, once; resolves when it is cut. */
  cutNextCommit(cut: CommitCut, application: string): Promise<void>;
}

interface Order {
  readonly cut: CommitCut;
  readonly application: string;
  readonly done: () => void;
}

/** `url`: as libpq reads it; a unix socket is given as `?host=/directory`. */
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
  /** Prepared statements of this connection that are a COMMIT; the unnamed one among them. */
  const commits = new Set<string>();

  /** Reads one message from the front of `rest`, and says whether it carries out a COMMIT; undefined: there is none yet. */
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
      // A client that would like TLS asks first, in eight bytes.
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
