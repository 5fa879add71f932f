// Counts the outcomes of this process that wait to be written. They are kept through an outage, but
// memory is limited: above the limit no push begins until some outcomes are written.

/**
 * An outcome with the provider's answer takes at most 1 kB (a guess). So the limit is 25 MB of the
 * 300 MB that a process may have.
 */
const outcomesMax = 25_000;

export interface OutcomeBacklog {
  add(count: number): void;
  /** The outcomes were written, or dropped because another process owns the batch. */
  remove(count: number): void;
  /** While the limit is reached: resolves when that may have changed. */
  untilRoom(): Promise<void> | undefined;
}

export function createOutcomeBacklog(max = outcomesMax): OutcomeBacklog {
  let count = 0;
  let room: { readonly promise: Promise<void>; readonly open: () => void } | undefined;
  return {
    add(more) {
      count += more;
    },
    remove(fewer) {
      count -= fewer;
      if (count >= max) return;
      room?.open();
      room = undefined;
    },
    untilRoom() {
      if (count < max) return undefined;
      room ??= createRoom();
      return room.promise;
    },
  };
}

function createRoom(): { promise: Promise<void>; open: () => void } {
  let open: () => void = () => undefined;
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}
