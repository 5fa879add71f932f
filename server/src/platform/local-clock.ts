// The clock on the wall of a time zone. Pure: what a zone is and when it changes is the runtime's to know.

const hourMs = 3_600_000;
/** No zone's clock is further than this from UTC, and none changes twice within twice that time. */
const offsetMsMost = 16 * hourMs;

/** A time on the wall is written as the milliseconds that it would be at UTC. */
export interface LocalClock {
  /** What the clocks show at an instant. */
  wallMs(ms: number): number;
  /**
   * When the clocks show a time, or the next one that they do show: the first instant at which they stand there or beyond. So of a
   * time that a zone skips it is the first after the gap, and of one that it has twice the first of the two.
   */
  instantMs(wallMs: number): number;
}

/** Throws a RangeError for a zone that the runtime does not know. */
export function createLocalClock(zone: string): LocalClock {
  const offsetMsAt = offsetsOf(zone);
  return {
    wallMs: (ms) => ms + offsetMsAt(ms),
    instantMs(wallMs) {
      let beforeMs = Math.floor(wallMs / 1000) * 1000 - offsetMsMost;
      let afterMs = beforeMs + 2 * offsetMsMost + 1000;
      const before = offsetMsAt(beforeMs);
      const after = offsetMsAt(afterMs);
      const asBefore = wallMs - before;
      if (before === after) return asBefore;
      // The clocks change in between, once: to the second, when?
      while (afterMs - beforeMs > 1000) {
        const middleMs = Math.floor((beforeMs + afterMs) / 2000) * 1000;
        if (offsetMsAt(middleMs) === before) beforeMs = middleMs;
        else afterMs = middleMs;
      }
      if (asBefore < afterMs) return asBefore;
      return Math.max(wallMs - after, afterMs);
    },
  };
}

/** How far a zone's clocks are ahead of UTC at an instant. */
function offsetsOf(zone: string): (ms: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (ms) => {
    const parts: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
    for (const { type, value } of format.formatToParts(ms)) parts[type] = Number(value);
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / 1000) * 1000;
  };
}
