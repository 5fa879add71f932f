// Which connections a push goes over: Apple binds one to the team, key and environment it sees first, so each of those has
// its own. A connection that went bad for its key is let go, and never so often that Apple would take it for an attack.
import type { OutboundOrigin } from '../../platform/outbound-socket.ts';
import type { OutboundTransport } from '../../platform/outbound-transport.ts';
import type { Environment } from '../channel.ts';
import type { ApnsCredential } from './credential.ts';

/** The connections of one key to one environment, until they are replaced by those of a later generation. */
export interface Connection {
  readonly origin: OutboundOrigin;
  readonly pool: string;
  readonly name: string;
  readonly generation: number;
}

export interface Connections {
  of(environment: Environment, credential: ApnsCredential): Connection;
  /** Sees to another connection than this one; false when the last change is too recent for one more. */
  renew(connection: Connection): boolean;
}

const renewEveryMs = 60_000;
const renewedKeptMax = 10_000;

export function createConnections(
  transport: OutboundTransport,
  origins: Readonly<Record<Environment, OutboundOrigin>>,
  nowMs: () => number,
): Connections {
  const renewed = new Map<string, { generation: number; atMs: number }>();
  // Asked with the same credential for every push.
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
      if (known !== undefined && nowMs() - known.atMs < renewEveryMs) return false;
      if (renewed.size >= renewedKeptMax) renewed.clear();
      renewed.set(name, { generation: generation + 1, atMs: nowMs() });
      transport.retire(origin, pool);
      return true;
    },
  };
}

function nameOf(environment: Environment, { teamId, keyId, fingerprint }: ApnsCredential): string {
  return `${environment} ${teamId} ${keyId} ${fingerprint}`;
}
