// Numbers of a chart: its ticks, and the places of labels that must not overlap. Pure.

/**
 * Round values from zero to at least `most`, four steps at most. A chart of zeros ends at 1. Counts
 * (`isWhole`) have whole ticks only.
 */
export function ticksUpTo(most: number, isWhole = false): readonly number[] {
  if (!(most > 0)) return [0, 1];
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const fits = (each: number): boolean => each >= rough * (1 - 1e-9) && (!isWhole || Number.isInteger(each));
  const step = [1, 2, 2.5, 5, 10, 20].map((factor) => factor * power).find(fits) ?? 1;
  const steps = Math.ceil(most / step - 1e-9);
  return Array.from({ length: steps + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}

/**
 * Moves heights apart so that each is `gap` from the next, in their order, within 0 and `height`.
 */
export function spread(heights: readonly number[], gap: number, height: number): readonly number[] {
  const order = heights.map((y, i) => ({ y, i })).sort((a, b) => a.y - b.y || a.i - b.i);
  let least = 0;
  for (const each of order) {
    each.y = Math.max(each.y, least);
    least = each.y + gap;
  }
  let most = height;
  for (const each of order.toReversed()) {
    each.y = Math.min(each.y, most);
    most = each.y - gap;
  }
  const moved = [...heights];
  for (const { y, i } of order) moved[i] = y;
  return moved;
}

/**
 * The indexes of the points with a label below: both ends, and as many in between as there is room.
 */
export function labelledPoints(points: number, room: number): readonly number[] {
  if (points === 0) return [];
  const most = Math.max(2, room);
  const every = Math.max(1, Math.ceil((points - 1) / (most - 1)));
  const chosen: number[] = [];
  for (let i = 0; i < points - 1; i += every) chosen.push(i);
  const last = points - 1;
  const before = chosen.at(-1);
  // A label too close to the last one is dropped.
  if (before !== undefined && before > 0 && last - before < every * 0.75) chosen.pop();
  return [...chosen, last];
}
