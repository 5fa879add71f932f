// How many outcomes of this process wait to be written. They are kept through an outage, and memory has an end: above the bound
// nothing is pushed until some are written.

/** 1 kB each at most for answers as providers give them (a guess): 25 MB of the 300 MB that a process may have. */
const outcomesMax = 25_000;

export interface OutcomeBacklog {
  add(count: number): void;
  /** They were written, or are another's to write. */
  remove(count: number): void;
  /** While the bound is reached: resolves when that may have changed. */
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
