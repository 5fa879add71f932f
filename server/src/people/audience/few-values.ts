// Speeds up counts by a part of a text in a column that has few different values. The text is
// looked for in each value and not on each device; the condition then names whole values, which an
// index finds. The column needs an index in the order of its values. The values must come from the
// snapshot that is counted, because a value that is added in between would be missed.
import { slotColumn } from '../properties/slots.ts';
import type { CheckedFilter, CheckedLeaf } from './check-filter.ts';
import { builtinColumns } from './filter-to-sql.ts';
import type { AudienceContext, ResolvedAudience } from './queries.ts';
import { type ExpectedValues, estimateValues, findNextValue, type NextValue, type TextPart } from './value-queries.ts';

export interface FewValuesLimits {
  /** Below this number of devices, reading every device is faster than reading the values. */
  readonly devicesMin: number;
  /**
   * The number of values read for one audience. Each takes a round trip. 40 values take some
   * milliseconds, and reading every device about fifty.
   */
  readonly valuesMax: number;
  /**
   * Milliseconds after which no further value is read, because the count itself is still to come.
   */
  readonly msMax: number;
}

export const fewValuesLimits: FewValuesLimits = { devicesMin: 100_000, valuesMax: 40, msMax: 200 };

/**
 * Returns whether an audience asks for a part of a text, which could be looked for among the
 * column's values.
 */
export function asksForParts(audience: ResolvedAudience): boolean {
  const filters = [audience.exclude, 'filter' in audience ? audience.filter : null];
  return filters.some((filter) => filter !== null && hasPart(filter));
}

function hasPart(filter: CheckedFilter): boolean {
  if (filter.kind === 'and' || filter.kind === 'or') return filter.nodes.some(hasPart);
  if (filter.kind === 'not') return hasPart(filter.node);
  return filter.kind === 'leaf' && partOf(filter) !== undefined;
}

/**
 * Returns the same audience with whole values in place of parts of texts where that is faster. Call
 * it in the transaction and snapshot in which the audience is counted (`readOneSnapshot`).
 */
export async function compareWholeValues(
  context: AudienceContext,
  audience: ResolvedAudience,
  limits = fewValuesLimits,
): Promise<ResolvedAudience> {
  const untilMs = context.clock.steadyMs() + limits.msMax;
  const isLate = (): boolean => context.clock.steadyMs() > untilMs;
  const estimates = new Map<string, ExpectedValues | null>();
  let valuesLeft = limits.valuesMax;

  const rewrite = async (filter: CheckedFilter): Promise<CheckedFilter> => {
    if (filter.kind === 'event') return filter;
    if (filter.kind === 'not') return { ...filter, node: await rewrite(filter.node) };
    if (filter.kind === 'leaf') return rewriteLeaf(filter);
    const nodes: CheckedFilter[] = [];
    for (const node of filter.nodes) nodes.push(await rewrite(node));
    return { ...filter, nodes };
  };

  const rewriteLeaf = async (leaf: CheckedLeaf): Promise<CheckedLeaf> => {
    const part = partOf(leaf);
    if (part === undefined || valuesLeft <= 0 || isLate()) return leaf;
    let expected = estimates.get(part.column);
    if (expected === undefined) {
      expected = await estimateValues(context, part.column);
      estimates.set(part.column, expected);
    }
    if (expected === null || expected.devices < limits.devicesMin || expected.values > valuesLeft) return leaf;
    const values: string[] = [];
    let after: string | null = null;
    for (;;) {
      const next: NextValue | undefined = await findNextValue(context, part, after);
      if (next === undefined) return { ...leaf, test: { kind: 'is', values } };
      valuesLeft--;
      if (valuesLeft < 0 || isLate()) return leaf;
      if (next.isMatch) values.push(next.value);
      after = next.value;
    }
  };

  const exclude = audience.exclude && (await rewrite(audience.exclude));
  return 'filter' in audience ? { filter: await rewrite(audience.filter), exclude } : { ...audience, exclude };
}

/**
 * Returns the column and the part that is looked for, if an index can hold the column's values in
 * order.
 */
function partOf({ operand, type, test }: CheckedLeaf): TextPart | undefined {
  // An index finds a prefix without this.
  if (type !== 'string' || test.kind !== 'text' || test.op === 'starts_with') return undefined;
  if ('builtin' in operand) {
    const hasNoIndexOfItsText = operand.builtin === 'device.identified' || operand.builtin === 'device.platform';
    return hasNoIndexOfItsText ? undefined : { column: builtinColumns[operand.builtin], test };
  }
  const { slot } = operand.property;
  return slot === null ? undefined : { column: slotColumn('string', slot), test };
}
