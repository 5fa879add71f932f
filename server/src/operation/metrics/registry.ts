// Counters, gauges and histograms of a process, their sums over processes, and the text that
// Prometheus reads. Names no metric, and never holds more series of a family than `seriesMax`. Pure
// except for the counts.

type Kind = 'counter' | 'gauge' | 'histogram';

interface FamilyOptions {
  /** `carillon_…`, in base units. */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  /**
   * The number of series at most. The series unused for the longest time are dropped, and restart
   * at zero when they are used again.
   */
  readonly seriesMax?: number;
}

/** A family's values, in the form in which processes exchange them. */
export interface FamilySnapshot {
  readonly name: string;
  readonly help: string;
  readonly kind: Kind;
  readonly labels: readonly string[];
  /** The upper bounds of a histogram, ascending. */
  readonly bounds: readonly number[];
  readonly series: readonly {
    readonly labels: readonly string[];
    /**
     * One number. For a histogram: the counts of each bucket, the count above the last bound, then
     * the sum.
     */
    readonly values: readonly number[];
  }[];
}

type Add = (labels: readonly string[], value?: number) => void;

export interface Metrics {
  /** Returns a function that adds to the series of these labels; one, when no value is given. */
  counter(options: FamilyOptions): Add;
  /** Returns a function that sets the series of these labels. */
  gauge(options: FamilyOptions): (labels: readonly string[], value: number) => void;
  /** Returns a function that counts a value in its bucket. */
  histogram(
    options: FamilyOptions & { readonly bounds: readonly number[] },
  ): (labels: readonly string[], value: number) => void;
  snapshot(): FamilySnapshot[];
}

class Family {
  readonly #kind: Kind;
  readonly #options: FamilyOptions;
  readonly bounds: readonly number[];
  // The order of insertion is the order of use: the first one was unused for the longest time.
  readonly #series = new Map<string, { readonly labels: readonly string[]; readonly values: number[] }>();

  constructor(kind: Kind, options: FamilyOptions, bounds: readonly number[]) {
    this.#kind = kind;
    this.#options = options;
    this.bounds = bounds;
  }

  valuesOf(labels: readonly string[]): number[] {
    const { seriesMax } = this.#options;
    const key = labels.join('\u0000');
    let found = this.#series.get(key);
    if (found && seriesMax === undefined) return found.values;
    if (found) this.#series.delete(key);
    else {
      const values = new Array<number>(this.#kind === 'histogram' ? this.bounds.length + 2 : 1).fill(0);
      found = { labels: [...labels], values };
      const [oldest] = this.#series.keys();
      if (oldest !== undefined && this.#series.size >= (seriesMax ?? Number.POSITIVE_INFINITY)) {
        this.#series.delete(oldest);
      }
    }
    this.#series.set(key, found);
    return found.values;
  }

  snapshot(): FamilySnapshot {
    const { name, help, labels = [] } = this.#options;
    const series = [...this.#series.values()].map((one) => ({ labels: one.labels, values: [...one.values] }));
    return { name, help, kind: this.#kind, labels, bounds: this.bounds, series };
  }
}

export function createMetrics(): Metrics {
  const families: Family[] = [];
  const add = (kind: Kind, options: FamilyOptions, bounds: readonly number[] = []): Family => {
    const family = new Family(kind, options, bounds);
    families.push(family);
    return family;
  };
  return {
    counter(options) {
      const family = add('counter', options);
      return (labels, value = 1) => {
        const values = family.valuesOf(labels);
        values[0] = (values[0] ?? 0) + value;
      };
    },
    gauge(options) {
      const family = add('gauge', options);
      return (labels, value) => {
        family.valuesOf(labels)[0] = value;
      };
    },
    histogram({ bounds, ...options }) {
      const family = add('histogram', options, bounds);
      return (labels, value) => {
        const values = family.valuesOf(labels);
        const found = bounds.findIndex((bound) => value <= bound);
        const bucket = found === -1 ? bounds.length : found;
        values[bucket] = (values[bucket] ?? 0) + 1;
        values[bounds.length + 1] = (values[bounds.length + 1] ?? 0) + value;
      };
    },
    snapshot: () => families.map((family) => family.snapshot()),
  };
}

/** Adds up the families of several processes: series with the same name and labels are summed. */
export function mergeSnapshots(snapshots: readonly (readonly FamilySnapshot[])[]): FamilySnapshot[] {
  const merged = new Map<string, { family: FamilySnapshot; series: Map<string, FamilySnapshot['series'][number]> }>();
  for (const family of snapshots.flat()) {
    const into = merged.get(family.name) ?? { family, series: new Map() };
    merged.set(family.name, into);
    for (const { labels, values } of family.series) {
      const key = labels.join('\u0000');
      const before = into.series.get(key)?.values;
      into.series.set(key, { labels, values: values.map((value, i) => value + (before?.[i] ?? 0)) });
    }
  }
  return [...merged.values()].map(({ family, series }) => ({ ...family, series: [...series.values()] }));
}

/** The metrics that remain of a process that has ended: its counts, without its gauges. */
export function countersOf(snapshot: readonly FamilySnapshot[]): FamilySnapshot[] {
  return snapshot.filter(({ kind }) => kind !== 'gauge');
}

export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8';

/** The text exposition format of Prometheus, version 0.0.4. */
export function renderMetrics(snapshot: readonly FamilySnapshot[]): string {
  return snapshot
    .filter(({ series }) => series.length > 0)
    .map((family) => {
      const { name, help, kind } = family;
      const head = `# HELP ${name} ${help.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')}\n# TYPE ${name} ${kind}\n`;
      return head + family.series.map((series) => renderSeries(family, series)).join('');
    })
    .join('');
}

function renderSeries(
  { name, kind, labels: names, bounds }: FamilySnapshot,
  { labels, values }: FamilySnapshot['series'][number],
): string {
  const pairs = names.map((label, i) => [label, labels[i] ?? ''] as const);
  if (kind !== 'histogram') return `${name}${renderLabels(pairs)} ${renderNumber(values[0] ?? 0)}\n`;
  let count = 0;
  const buckets = [...bounds.map(renderNumber), '+Inf'].map((bound, i) => {
    count += values[i] ?? 0;
    return `${name}_bucket${renderLabels([...pairs, ['le', bound]])} ${count}\n`;
  });
  const sum = renderNumber(values[bounds.length + 1] ?? 0);
  return `${buckets.join('')}${name}_sum${renderLabels(pairs)} ${sum}\n${name}_count${renderLabels(pairs)} ${count}\n`;
}

function renderLabels(pairs: readonly (readonly [string, string])[]): string {
  if (pairs.length === 0) return '';
  const escaped = (value: string) => value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n');
  return `{${pairs.map(([name, value]) => `${name}="${escaped(value)}"`).join(',')}}`;
}

function renderNumber(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  return String(value);
}
