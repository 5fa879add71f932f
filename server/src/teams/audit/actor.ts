// The actor of a change, as the audit log keeps it (contract 19). Every operation that changes how
// the service is set up receives one.
import { decodeId, type Uuid } from '../../ground/values/ids.ts';

/**
 * `person`: signed in to the console. `token`: an operator token. `key`: an API key. `cli`: a
 * command, by the system's user. `service`: the service itself, such as at its first start.
 */
const actorKinds = ['person', 'token', 'key', 'cli', 'service'] as const;
export type ActorKind = (typeof actorKinds)[number];

export interface Actor {
  readonly kind: ActorKind;
  /** The public id of a person, token or key; null for the other kinds. */
  readonly id: string | null;
  /**
   * A label for people: an e-mail address, the name of a token or key, the system's user, or the
   * event that made the service act, such as `first start`.
   */
  readonly name: string;
  /** The address that the request came from; null for a change without a request. */
  readonly address: string | null;
}

/** The service itself. `occasion` names the event that made it act, such as `first start`. */
export function serviceActor(occasion: string): Actor {
  return { kind: 'service', id: null, name: occasion, address: null };
}

/**
 * The actor in a few words, such as `cli anna`. The field `created_by` of a key shows this text.
 */
export function describeActor({ kind, name }: Pick<Actor, 'kind' | 'name'>): string {
  return kind === 'service' ? name : `${kind} ${name}`;
}

/** The account of a person; null for the other kinds. */
export function personIdOf({ kind, id }: Pick<Actor, 'kind' | 'id'>): Uuid | null {
  return (kind === 'person' && id !== null && decodeId('acc', id)) || null;
}
