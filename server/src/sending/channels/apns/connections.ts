// Chooses the connections that a push uses. Apple binds a connection to the first team, key and
// environment that it sees, so each combination has connections of its own. Connections that turned
// bad for their key are replaced at most once a minute, because Apple takes more for an attack.

import type { OutboundOrigin } from '../../../ground/outbound/socket.ts';
import type { OutboundTransport } from '../../../ground/outbound/transport.ts';
import type { Environment } from '../channel.ts';
import type { ApnsCredential } from './credential.ts';

/** The connections of one key to one environment. A later generation replaces them. */
export interface Connection {
  readonly origin: OutboundOrigin;
  readonly pool: string;
  readonly name: string;
  readonly generation: number;
}

export interface Connections {
  of(environment: Environment, credential: ApnsCredential): Connection;
  /**
   * Makes `of` answer newer connections than these. False when the last replacement was less than
   * `renewEveryMs` ago.
   */
  renew(connection: Connection): boolean;
}

const renewEveryMs = 60_000;
const renewedKeptMax = 10_000;

export function createConnections(
  transport: OutboundTransport,
  origins: Readonly<Record<Environment, OutboundOrigin>>,
  steadyMs: () => number,
): Connections {
  const renewed = new Map<string, { generation: number; atMs: number }>();
  // Remembered per credential object, because every push asks with the same object.
  const made: Readonly<Record<Environment, WeakMap<ApnsCredential, Connection>>> = {
    production: new WeakMap(),
    sandbox: new WeakMap(),
  };
  return {
    of(environment, credential) {
      const known = made[environment].get(credential);
      const name = known?.name ?? nameOf(environment, credential);
      const generation = renewed.get(name)?.generation ?? 0;
      if (known?.generation === generation) return known;
      const connection = { origin: origins[environment], pool: `${name} ${generation}`, name, generation };
      made[environment].set(credential, connection);
      return connection;
    },
    renew({ origin, pool, name, generation }) {
      const known = renewed.get(name);
      if ((known?.generation ?? 0) !== generation) return true;
      if (known !== undefined && steadyMs() - known.atMs < renewEveryMs) return false;
      if (renewed.size >= renewedKeptMax) renewed.clear();
      renewed.set(name, { generation: generation + 1, atMs: steadyMs() });
      transport.retire(origin, pool);
      return true;
    },
  };
}

function nameOf(environment: Environment, { teamId, keyId, fingerprint }: ApnsCredential): string {
  return `${environment} ${teamId} ${keyId} ${fingerprint}`;
}
