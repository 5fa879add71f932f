// The number of events that are classed at once. Pure.

/**
 * The first number of events in a chunk. When many events follow, each chunk doubles. Most of an
 * event's cost is finding its person's deliveries in each stored week, and deliveries that are
 * looked up together lie close to each other.
 */
export const chunkEvents = 1_000;

/**
 * Deliveries of a chunk above which the next chunk shrinks. They take about ten megabytes in the
 * process.
 */
const deliveriesMany = 40_000;

/**
 * The size of the next chunk, after a chunk of `events` that read `deliveries`. It stops growing
 * when people have many deliveries.
 */
export function nextChunk(events: number, deliveries: number, most: number): number {
  if (deliveries > deliveriesMany) return Math.max(chunkEvents, Math.floor(events / 2));
  return deliveries > deliveriesMany / 2 ? events : Math.min(most, 2 * events);
}
