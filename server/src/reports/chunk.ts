// How many events are classed at once. Pure.

/**
 * How many events are classed at once. Where many follow, each time twice as many, since most of what an event costs is finding its
 * person's deliveries in every week that is kept, and these lie beside each other when many are looked for.
 */
export const chunkEvents = 1_000;

/** So many deliveries of a chunk have ten megabytes in the process. */
const deliveriesMany = 40_000;

/** The next chunk, after one of `events` for which so many deliveries were read: where people get many, it grows no further. */
export function nextChunk(events: number, deliveries: number, most: number): number {
  if (deliveries > deliveriesMany) return Math.max(chunkEvents, Math.floor(events / 2));
  return deliveries > deliveriesMany / 2 ? events : Math.min(most, 2 * events);
}
