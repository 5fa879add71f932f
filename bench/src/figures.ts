// Makes figures. Every work returns one list of them, which is printed and kept as it is.
import { percentile, rounded } from '../../rig/src/measure.ts';

/** Absent or undefined: no target. */
interface Target {
  readonly atMost?: number | undefined;
  readonly atLeast?: number | undefined;
}

/** One number of a work. */
export interface Figure extends Target {
  readonly name: string;
  /** A word instead of a number, such as `refused`. */
  readonly value: number | string;
  readonly unit: string;
  /** Another side, measured in the same run. The target is one of the ratio then. */
  readonly beside?: {
    readonly side: string;
    /** In the unit of the figure. */
    readonly value: number;
    /** How many times better than the side; with `atMost`, how many times as much. */
    readonly ratio: number;
  };
}

interface Comparison extends Target {
  readonly beside?: { readonly side: string; readonly value: number };
}

/** Rates are better the higher they are; times, memory and costs the lower. */
export function figure(name: string, value: number, unit: string, { beside, ...target }: Comparison = {}): Figure {
  if (!beside) return { name, value: tidy(value), unit, ...target };
  const isHigherBetter = unit === '/s' || target.atMost !== undefined;
  const ratio = isHigherBetter ? value / beside.value : beside.value / value;
  const side = { side: beside.side, value: tidy(beside.value), ratio: rounded(ratio) };
  return { name, value: tidy(value), unit, beside: side, ...target };
}

/** A figure in milliseconds for each share, such as 0.5. The target is one of the first. */
export function percentiles(name: string, ms: readonly number[], shares = [0.5, 0.99], target: Target = {}): Figure[] {
  return shares.map((share, i) =>
    figure(`${name}: p${share * 100}`, percentile(ms, share), 'ms', i === 0 ? target : {}),
  );
}

/** A figure for each entry. */
export function figuresOf(name: string, values: Readonly<Record<string, number>>, unit: string): Figure[] {
  return Object.entries(values).map(([of, value]) => figure(`${name}: ${of}`, value, unit));
}

/** Three significant digits below a hundred: more would claim a precision that was not measured. */
function tidy(value: number): number {
  return Math.abs(value) < 100 ? rounded(value) : Math.round(value);
}
