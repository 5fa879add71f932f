// A text of which an app's devices have few different values is looked through value by value, and not device by device: a part of it is then
// one of some whole values, which an index finds. Only where an index has the values in their order, and only with the values of the
// same snapshot that is counted: else a value that comes meanwhile would be missed.
import { slotColumn } from '../properties/slots.ts';
import type { CheckedFilter, CheckedLeaf } from './check-filter.ts';
import { builtinColumns } from './filter-to-sql.ts';
import type { AudienceContext, ResolvedAudience } from './queries.ts';
import { type ExpectedValues, estimateValues, findNextValue, type NextValue, type TextPart } from './value-queries.ts';

export interface FewValuesLimits {
  /** With fewer devices to look at, all of them are sooner looked at than the values are gone through. */
  readonly devicesMin: number;
  /** Values that are gone through for one audience, a round trip each: some milliseconds, where a look at each device takes fifty. */
  readonly valuesMax: number;
  /** By then nothing more is gone through: the count is yet to come. */
  readonly msMax: number;
}

export const fewValuesLimits: FewValuesLimits = { devicesMin: 100_000, valuesMax: 40, msMax: 200 };

/** Does an audience ask for a part of a text, which could be looked for among its values? */
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
 * The same audience, with whole values in place of parts of texts where that is of use. Must be asked in the transaction and the snapshot
 * that the audience is counted in (`readOneSnapshot`).
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

/** Where a part of a text is looked for, if it can be found among values that an index holds in order. */
function partOf({ operand, type, test }: CheckedLeaf): TextPart | undefined {
  // A beginning is found by the index as it is.
  if (type !== 'string' || test.kind !== 'text' || test.op === 'starts_with') return undefined;
  if ('builtin' in operand) {
    const hasNoIndexOfItsText = operand.builtin === 'device.identified' || operand.builtin === 'device.platform';
    return hasNoIndexOfItsText ? undefined : { column: builtinColumns[operand.builtin], test };
  }
  const { slot } = operand.property;
  return slot === null ? undefined : { column: slotColumn('string', slot), test };
}
