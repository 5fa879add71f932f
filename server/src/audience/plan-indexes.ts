// Which columns of `audience` have an index: those that filters of apps with many devices compare, and no more of them than writes can
// bear. All apps share the table, so an index is everybody's: each upsert of any app pays for it. Pure.
import type { Uuid } from '../platform/ids.ts';

/** An app's filters compare a column. */
export interface ColumnUse {
  readonly appId: Uuid;
  /** As filters name it. */
  readonly field: string;
  readonly column: string;
  /** How much: segments and previews, a segment as many as make previews count. */
  readonly uses: number;
  /** Of the app, counted up to a great number. */
  readonly devices: number;
}

export interface IndexLimits {
  readonly indexesMax: number;
  /** So that no app leaves none to the others. */
  readonly perAppMax: number;
  /** An app with fewer is read whole in a few milliseconds, whatever its filters ask. */
  readonly devicesMin: number;
}

/** Ten indexes cost a property update a sixth of its rate (`bench/README.md`). */
export const indexLimits: IndexLimits = { indexesMax: 24, perAppMax: 16, devicesMin: 5_000 };

export interface UseWithoutIndex extends ColumnUse {
  readonly reason: 'few_devices' | 'no_index_left';
}

export interface IndexPlan {
  readonly columns: ReadonlySet<string>;
  /** What filters compare and no index serves. */
  readonly without: readonly UseWithoutIndex[];
}

/** An index that is there gives way to one that is worth twice as much: building takes minutes, and worths move. */
const standing = 2;

/**
 * Of each app with enough devices the columns that it uses most; of those, over all apps, the ones that serve the most devices.
 * `built`: the columns that have an index now.
 */
export function planIndexes(
  uses: readonly ColumnUse[],
  built: ReadonlySet<string>,
  { indexesMax, perAppMax, devicesMin }: IndexLimits,
): IndexPlan {
  const worthOf = (column: string, worth: number): number => worth * (built.has(column) ? standing : 1);
  const ofApp = new Map<Uuid, ColumnUse[]>();
  for (const use of uses) {
    if (use.devices >= devicesMin) ofApp.set(use.appId, [...(ofApp.get(use.appId) ?? []), use]);
  }
  const candidates = new Map<string, { devices: number; uses: number }>();
  for (const own of ofApp.values()) {
    own.sort(
      (one, other) =>
        worthOf(other.column, other.uses) - worthOf(one.column, one.uses) || compare(one.column, other.column),
    );
    for (const use of own.slice(0, perAppMax)) {
      const { devices, uses } = candidates.get(use.column) ?? { devices: 0, uses: 0 };
      candidates.set(use.column, { devices: devices + use.devices, uses: uses + use.uses });
    }
  }
  const ranked = [...candidates].sort(
    ([column, one], [otherColumn, other]) =>
      worthOf(otherColumn, other.devices) - worthOf(column, one.devices) ||
      worthOf(otherColumn, other.uses) - worthOf(column, one.uses) ||
      compare(column, otherColumn),
  );
  const columns = new Set(ranked.slice(0, indexesMax).map(([column]) => column));
  const without = uses.flatMap((use): UseWithoutIndex[] => {
    if (columns.has(use.column)) return [];
    return [{ ...use, reason: use.devices < devicesMin ? 'few_devices' : 'no_index_left' }];
  });
  return { columns, without };
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
