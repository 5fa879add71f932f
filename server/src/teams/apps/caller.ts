// The caller: the app and the scope of its key. Routes with a key know nothing else about the
// caller.

import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import type { Actor } from '../audit/actor.ts';

export type KeyScope = 'server' | 'client';

/** The app's rules for events by client key, and how many names of events it has deleted. */
export interface ClientEvents {
  /** Whether client keys may add names that the app does not have yet. */
  readonly newNames: boolean;
  readonly purchases: boolean;
  /**
   * Grows with each deleted name. A process that remembers a smaller number forgets the app's
   * names.
   */
  readonly deletedNames: number;
}

export interface Caller {
  readonly appId: Uuid;
  readonly keyId: Uuid;
  readonly keyName: string;
  readonly scope: KeyScope;
  /** The name of the app's plan. */
  readonly plan: string;
  readonly clientEvents: ClientEvents;
  /**
   * The person or operator token that calls in the app's name; absent when the key itself calls.
   */
  readonly by?: Actor;
}

/** The rules of a new app. */
export const clientEventsDefault: ClientEvents = Object.freeze({ newNames: true, purchases: true, deletedNames: 0 });

/**
 * The author of a change: the person who calls, or else the request's key. `address` is the
 * client's.
 */
export function actorOf({ keyId, keyName, by }: Caller, address: string): Actor {
  return by ?? { kind: 'key', id: encodeId('key', keyId), name: keyName, address };
}

/** The caller of public routes: no app and no key. Its ids match nothing. */
export const nobody: Caller = Object.freeze({
  appId: '',
  keyId: '',
  keyName: '',
  scope: 'client',
  plan: '',
  clientEvents: clientEventsDefault,
});
