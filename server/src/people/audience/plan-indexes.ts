// Plans which columns of `audience` have an index: those that filters of apps with many devices
// compare, up to a number that writes can bear. All apps share the table, so each upsert of any app
// pays for every index. Pure.
import type { Uuid } from '../../ground/values/ids.ts';

/** A column that an app's filters compare. */
export interface ColumnUse {
  readonly appId: Uuid;
  /** The field as filters name it. */
  readonly field: string;
  readonly column: string;
  /** The number of noted previews; each segment counts as `previewsMin` of them. */
  readonly uses: number;
  /** Devices of the app, counted up to a maximum. */
  readonly devices: number;
}

export interface IndexLimits {
  readonly indexesMax: number;
  /** The maximum for one app, so that no app takes all indexes. */
  readonly perAppMax: number;
  /**
   * An app with fewer devices is read completely within a few milliseconds, whatever its filters
   * ask.
   */
  readonly devicesMin: number;
}

/** Ten indexes reduce the rate of property updates by a sixth (measured, `bench/README.md`). */
export const indexLimits: IndexLimits = { indexesMax: 24, perAppMax: 16, devicesMin: 5_000 };

export interface UseWithoutIndex extends ColumnUse {
  readonly reason: 'few_devices' | 'no_index_left';
}

export interface IndexPlan {
  readonly columns: ReadonlySet<string>;
  /** Columns that filters compare and that get no index. */
  readonly without: readonly UseWithoutIndex[];
}

/**
 * An existing index is replaced only by one that is worth twice as much, because a build takes
 * minutes and the worths fluctuate.
 */
const standing = 2;

/**
 * Selects for each app with enough devices the columns that it uses most, and among these, over all
 * apps, the columns that serve the most devices. `built`: the columns that have an index now.
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
