// A channel that a test asks with `await`.
import { expect } from 'vitest';
import type { Channel, Outcome, Push } from '../../src/sending/channels/channel.ts';

export type AskedChannel<Credential> = Omit<Channel<Credential>, 'send'> & {
  /** Resolves with the push's outcome. A second outcome of one push fails the test. */
  send(push: Push<Credential>): Promise<Outcome>;
};

export function askedChannel<Credential>(channel: Channel<Credential>): AskedChannel<Credential> {
  const send = (push: Push<Credential>): Promise<Outcome> => {
    let outcomes = 0;
    return new Promise((resolve) => {
      const onOutcome = (outcome: Outcome): void => {
        expect(++outcomes).toBe(1);
        resolve(outcome);
      };
      channel.send({ ...push, onOutcome });
    });
  };
  return { ...channel, send };
}
