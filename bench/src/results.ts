// The shape of a result as it is printed and kept, and the machine that it was measured on. People
// read kept results and programs compare them, so a smoke run is never kept.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { progress, repository } from '../../rig/src/workbench.ts';

interface Machine {
  readonly cores: number;
  readonly cpu: string;
  readonly node: string;
  /** Null when no database took part. */
  readonly postgres: string | null;
}

interface PeerResult {
  readonly name: string;
  readonly version: string;
  readonly per_second: number;
  readonly processes: number;
  readonly cpu_seconds_per_1000: number;
  readonly receiver_cpu_seconds_per_1000: number;
  /**
   * Cores that programs outside the benchmark kept busy meanwhile. Above 0.2 the rates are not
   * those of an idle machine.
   */
  readonly foreign_cores: number;
  readonly note: string;
}

/** One number for each kind of Carillon's processes. */
export type ByProcess = Readonly<Record<'api' | 'worker' | 'supervisor' | 'postgres', number>>;

export interface SendFigures {
  readonly per_second: number;
  readonly processes: { readonly api: number; readonly worker: number };
  /** CPU seconds of all of Carillon's processes together, the database included. */
  readonly cpu_seconds_per_1000: number;
  readonly cpu_seconds_per_1000_by_process: ByProcess;
  readonly receiver_cpu_seconds_per_1000: number;
  readonly foreign_cores: number;
  /**
   * Peak resident memory of the largest process of each kind. A connection's share of the
   * database's buffers is included.
   */
  readonly rss_mb: ByProcess;
  readonly bytes_per_delivery: { readonly row_and_key: number; readonly with_person_index: number };
  /** Time until `POST /v1/messages` was answered. In this run the answer waits for no delivery. */
  readonly accept_ms: number;
  /** Seconds from the request to the commit of the last delivery. */
  readonly seconds: number;
}

interface LatencyFigures {
  /** From the request's first byte to the arrival of the push at the provider. */
  readonly ms_p50_to_provider: number;
  readonly ms_p99_to_provider: number;
  readonly ms_p50_response: number;
  readonly ms_p99_response: number;
  readonly foreign_cores: number;
}

interface StartFigures {
  readonly first_seconds: number;
  readonly later_seconds: number;
}

interface Measured<Work extends string, Figures> {
  readonly work: Work;
  readonly params: Readonly<Record<string, string | number | boolean>>;
  readonly ours: Figures;
}

export interface SendMeasured extends Measured<'send', SendFigures> {
  readonly peers: readonly PeerResult[];
  readonly limit: Omit<PeerResult, 'version' | 'processes' | 'note'>;
  readonly ratio_best_peer: number;
  readonly ratio_best_peer_cpu: number;
  readonly ratio_limit: number;
  /**
   * The same send once more. The first one after the audience was filled also fills the database's
   * buffers and compiles the code. Absent with a latency or refusals.
   */
  readonly again?: { readonly per_second: number; readonly ratio_best_peer: number; readonly ratio_limit: number };
  /** Present with a latency: our mean rate divided by our mean rate without latency. */
  readonly ratio_latency?: number;
  /** The same of the first send with a latency, whose code was not compiled yet. */
  readonly ratio_latency_first?: number;
  /**
   * Present with refusals: the mean rate of the same run without refusals, the ratio of our mean
   * rate to it, and that of the first send with refusals, whose code was not compiled yet.
   */
  readonly refusals?: {
    readonly share: number;
    readonly refused: number;
    readonly per_second_without: number;
    readonly ratio: number;
    readonly ratio_first: number;
  };
  /**
   * Present with an unusual number of devices: the kept result of the usual number, and the ratio
   * of our rate to it.
   */
  readonly beside?: {
    readonly devices: number;
    readonly per_second: number;
    readonly commit: string;
    readonly ratio: number;
  };
}
interface IdleFigures {
  /** Commits of the service's database, read-only transactions included. */
  readonly commits_per_second: number;
  /** In percent of one core. */
  readonly postgres_cpu_percent: number;
  readonly notifies_per_second: number;
  readonly connections: number;
  readonly foreign_cores: number;
}

export type IdleMeasured = Measured<'idle', IdleFigures>;
export type LatencyMeasured = Measured<'latency', LatencyFigures>;
export type StartMeasured = Measured<'start', StartFigures>;

/** Two requests that a stranger must not be able to tell apart by the time of their answers. */
export interface PairOfTimes {
  readonly name: string;
  /** Refusals of each kind. */
  readonly samples: number;
  readonly ms_p50_known: number;
  readonly ms_p50_random: number;
  /** The difference of the medians, as a share of the second. */
  readonly difference: number;
  /** The largest accepted difference. */
  readonly wanted: number;
}

export type TimesMeasured = Measured<
  'times',
  { readonly pairs: readonly PairOfTimes[]; readonly foreign_cores: number }
>;

interface Http2Figures {
  /** User and system time of the client's process alone. */
  readonly cpu_us_per_request: number;
  readonly per_second: number;
}

export interface Http2Measured extends Measured<'http2', Http2Figures & { readonly foreign_cores: number }> {
  readonly limit: Http2Figures & { readonly name: string };
  readonly ratio_cpu: number;
  readonly ratio_rate: number;
}

interface EventFigures {
  /** Events a second that were stored durably through HTTP. */
  readonly per_second: number;
  /** Time of one request with fifty events. */
  readonly ms_p50: number;
  readonly ms_p99: number;
  readonly processes: { readonly api: number; readonly worker: number };
  readonly cpu_seconds_per_1000_by_process: ByProcess;
  readonly load_cpu_seconds_per_1000: number;
  readonly foreign_cores: number;
  readonly rss_mb: ByProcess;
  /** Bytes on disk with all indexes, by table. */
  readonly bytes_per_event: Readonly<Record<'events' | 'event_ids' | 'subject_events', number>>;
  /** The rate while every device is seen again after an hour. */
  readonly per_second_all_devices_waking: number;
}

export interface EventsMeasured extends Measured<'events', EventFigures> {
  readonly limit: { readonly name: string; readonly per_second: number; readonly foreign_cores: number };
  readonly ratio_limit: number;
}

/** One endpoint on the plan `unlimited`, which gets requests as fast as it answers. */
export interface EndpointFigures {
  readonly per_second: number;
  readonly ms_p50: number;
  readonly ms_p99: number;
  /** CPU milliseconds per request of the API's process; the next field is for PostgreSQL. */
  readonly api_cpu_ms: number;
  readonly postgres_cpu_ms: number;
}

export interface UnderLimits {
  readonly plan: string;
  readonly reads_per_second: number;
  readonly reads_per_second_allowed: number;
  readonly known_devices_per_second: number;
  readonly known_devices_per_second_allowed: number;
}

export interface OverloadFigures {
  /**
   * Five times what the service can take. The offered rate is lower when the generator did not keep
   * up.
   */
  readonly meant_per_second: number;
  readonly offered_per_second: number;
  readonly admitted_per_second: number;
  readonly admitted_ms_p99: number;
  readonly refused_per_second: number;
  readonly refused_ms_p99: number;
  /** Answers that were neither 200 nor 503, and lost connections. */
  readonly other: number;
  /** Resident memory of the API's process, before and after. */
  readonly rss_mb_before: number;
  readonly rss_mb_after: number;
  readonly recovery_seconds: number;
}

/** The answers that an app got while another app flooded. */
export interface BesideFlood {
  readonly answers: number;
  readonly ms_p99: number;
  readonly unavailable: number;
  readonly other: number;
  /** The flood's answers a second, by status. */
  readonly flood_per_second: Readonly<Record<string, number>>;
}

export interface NeighbourFigures {
  readonly alone_ms_p99: number;
  readonly beside_own_key: BesideFlood;
  readonly beside_random_keys: BesideFlood;
}

export interface ApiMeasured
  extends Measured<
    'api',
    {
      readonly endpoints: Readonly<Record<string, EndpointFigures>>;
      readonly processes: { readonly api: number; readonly worker: number };
      readonly foreign_cores: number;
      readonly rss_mb: ByProcess;
    }
  > {
  /** Requests a second of a bare `node:http` server that reads one row for each. */
  readonly bare_reads_per_second: number;
  readonly under_limits: UnderLimits;
  readonly overload: OverloadFigures;
  readonly neighbour: NeighbourFigures;
}

interface AudienceFilter {
  readonly name: string;
  /** Null: the service refused the count because it takes too long. */
  readonly count: number | null;
  readonly ms_p50_warm: number;
}

export interface AudienceMeasured {
  readonly work: 'audience';
  readonly params: Readonly<Record<string, string | number | boolean>>;
  readonly devices: number;
  readonly filters: readonly (AudienceFilter & {
    /** The filter matches few devices, so an index alone should answer it. */
    readonly selective: boolean;
    /** The first count after the database was started. */
    readonly ms_p50_cold: number;
    readonly ms_p50_no_index: number;
    /**
     * COUNT(*) over the same devices with their properties in one JSONB column, run in the database
     * directly.
     */
    readonly ms_p50_jsonb: number;
    readonly ratio_jsonb: number;
  })[];
  readonly snapshot_seconds: number;
  readonly upserts_per_second: { readonly no_index: number; readonly ten_indexes: number };
  readonly growth: readonly { readonly devices: number; readonly filters: readonly AudienceFilter[] }[];
  readonly foreign_cores: number;
}

interface WebhooksFigures {
  /** Requests a second to one healthy endpoint whose outbox is full. */
  readonly per_second: number;
  /** Requests a second to as many healthy endpoints as there are senders. */
  readonly per_second_many: number;
  /** From an outcome to its request, while outcomes come no faster than they can be told. */
  readonly ms_p50: number;
  readonly ms_p99: number;
  /** Pushes a second while apps send as fast as they can. */
  readonly send_per_second: number;
  /** CPU seconds for a thousand pushes with the requests that tell of them. */
  readonly send_cpu_seconds_per_1000: number;
  readonly processes: { readonly api: number; readonly worker: number };
  /** CPU seconds per thousand events of one endpoint, all of Carillon's processes together. */
  readonly cpu_seconds_per_1000: number;
  readonly cpu_seconds_per_1000_by_process: ByProcess;
  readonly receiver_cpu_seconds_per_1000: number;
  readonly rss_mb: ByProcess;
  readonly foreign_cores: number;
}

/**
 * A repeated run beside something that should cost nothing. Ratios compare with the run without it.
 */
export interface Beside {
  /** From an outcome to its request, at the healthy webhooks. */
  readonly ms_p99: number;
  readonly send_per_second: number;
  readonly ratio_send: number;
  readonly ratio_told: number;
  readonly send_cpu_seconds_per_1000: number;
  readonly foreign_cores: number;
}

export interface WebhooksMeasured extends Measured<'webhooks', WebhooksFigures> {
  /** The same apps send the same, beside webhooks that never get an answer. */
  readonly black_holes: Beside & { readonly requests: number };
  /** The same apps send the same, beside the events that a disabled webhook holds. */
  readonly held: Beside;
}

export interface ReportsMeasured
  extends Measured<
    'reports',
    {
      /** From the request to the complete answer. */
      readonly revenue_ms_p50: number;
      readonly revenue_ms_p95: number;
      readonly revenue_by_day_ms_p50: number;
      readonly events_ms_p50: number;
      /** The time that one process takes to attribute purchases and to store the results. */
      readonly seconds_per_100000_purchases: number;
      /** The time to compute the sums of all events again. */
      readonly rebuild_seconds: number;
      readonly foreign_cores: number;
    }
  > {
  readonly raw: { readonly name: string; readonly ms: number };
  readonly ratio_raw: number;
}

/**
 * The worst body that was found for a route, beside a plain one of the same size, by CPU of the
 * API.
 */
export interface WorstRoute {
  readonly route: string;
  readonly worst: string;
  readonly bytes: number;
  /** Bodies that were refused and compared, of this size. */
  readonly bodies: number;
  /**
   * If it is not 200, the plain body names a missing object and costs less than an accepted one.
   */
  readonly plain_status: number;
  readonly ms_worst: number;
  readonly ms_plain: number;
  readonly ratio: number;
}

/** Another app's `GET /v1/config`, alone and beside a client key that sends the worst bodies. */
export interface WorstBystander {
  readonly plan: string;
  readonly alone_ms_p95: number;
  readonly beside_ms_p95: number;
  readonly unavailable: number;
  readonly refused_per_second: number;
  readonly limited_per_second: number;
}

export type WorstMeasured = Measured<
  'worst',
  {
    readonly routes: readonly WorstRoute[];
    /** Routes with a body that take less than 16 KiB. */
    readonly routes_short: number;
    readonly bystanders: readonly WorstBystander[];
    readonly foreign_cores: number;
  }
>;

interface BesideReads {
  readonly ms_p50: number;
  readonly ms_p99: number;
  /** Ratio to the same reads alone. */
  readonly ratio_p50: number;
  readonly ratio_p99: number;
  readonly costly_reads: number;
}

export interface TimelineMeasured {
  readonly work: 'timeline';
  readonly params: Readonly<Record<string, string | number | boolean>>;
  readonly filters: readonly {
    readonly name: string;
    readonly matches: number;
    /** Pages of the whole walk. */
    readonly pages: number;
    /** From the request for the first page to its complete answer. */
    readonly ms_p50: number;
    readonly ms_p95: number;
  }[];
  /**
   * Another app's reads: alone, and beside twenty concurrent reads that match nothing. The second
   * case is measured with batches that have noted their kinds and with batches that have not.
   */
  readonly neighbour: {
    readonly alone: { readonly ms_p50: number; readonly ms_p99: number };
    readonly beside: BesideReads;
    readonly beside_unnoted: BesideReads;
  };
  readonly foreign_cores: number;
}

export interface ImportMeasured {
  readonly work: 'import';
  readonly params: Readonly<Record<string, string | number | boolean>>;
  readonly ours: {
    readonly per_second: number;
    readonly seconds: number;
    /** Peak resident memory of the command, by the number of rows of the file. */
    readonly rss_mb: Readonly<Record<string, number>>;
    readonly foreign_cores: number;
  };
  /** The first of the same rows as requests: one for each device, one for each user. */
  readonly api: { readonly per_second: number; readonly rows: number; readonly in_flight: number };
  readonly ratio_api: number;
}

/** One number of a work, and its target. Undefined or null: no target. */
export interface Figure {
  readonly name: string;
  /** A word instead of a number, such as `refused`. */
  readonly value: number | string;
  readonly unit: string;
  /** How many times better than the side measured beside it. */
  readonly ratio?: number;
  readonly atMost?: number | null;
  readonly atLeast?: number | null;
}

export interface ConsoleMeasured {
  readonly work: 'console';
  readonly params: Readonly<Record<string, string | number | boolean>>;
  readonly figures: readonly Figure[];
  readonly foreign_cores: number;
}

/**
 * The result of a work. The database's version is the only fact about the machine that the work
 * must supply.
 */
export type AnyMeasured =
  | ApiMeasured
  | ConsoleMeasured
  | IdleMeasured
  | ImportMeasured
  | SendMeasured
  | LatencyMeasured
  | StartMeasured
  | Http2Measured
  | AudienceMeasured
  | WebhooksMeasured
  | EventsMeasured
  | ReportsMeasured
  | TimelineMeasured
  | TimesMeasured
  | WorstMeasured;

export type Result<Any extends AnyMeasured = AnyMeasured> = Any & {
  readonly machine: Machine;
  readonly commit: string;
};

export function completeResult<Any extends AnyMeasured>(measured: Any, postgres: string | null): Result<Any> {
  const machine = {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    node: process.version,
    postgres,
  };
  return { ...measured, machine, commit: findCommit() };
}

/**
 * Short hash of the commit, with `-dirty` when the tree differs from it in more than kept results.
 */
function findCommit(): string {
  const git = (...parameters: string[]): string =>
    execFileSync('git', parameters, { cwd: repository, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    const changed = git('status', '--porcelain', '--untracked-files=no', '--', '.', ':(exclude)bench/results');
    return git('rev-parse', '--short', 'HEAD') + (changed === '' ? '' : '-dirty');
  } catch {
    // A copy without Git history.
    return 'unknown';
  }
}

const directory = join(repository, 'bench/results');

/** The result that was kept last under this name. */
export function findKept(name: string): Result | undefined {
  const file = join(directory, `${name}.json`);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Result) : undefined;
}

/** Writes `bench/results/NAME.json`. A smoke run goes to a name beside it that Git ignores. */
export function keepResult(name: string, isQuick: boolean, result: Result): void {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, isQuick ? `${name}.quick.json` : `${name}.json`);
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
  progress(`kept in ${file}`);
}
