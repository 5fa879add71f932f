// The local clock of a time zone. Pure: the runtime knows the zones and their changes.

const hourMs = 3_600_000;
/** Milliseconds. No zone is further from UTC, and none changes twice within twice this time. */
const offsetMsMost = 16 * hourMs;

/** A local time is written as the milliseconds that the same time would be in UTC. */
export interface LocalClock {
  /** The local time at an instant. */
  wallMs(ms: number): number;
  /**
   * The instant of a local time: the first one at which the clocks show that time or a later one.
   * For a time that the zone skips it is the first instant after the gap, and for a time that
   * occurs twice the first of the two.
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
      // The clocks change once between the two times. The search finds the second of the change.
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

/** Returns a function for the difference between a zone's local time and UTC at an instant. */
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
