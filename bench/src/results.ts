// A result as it is printed and kept: its shape, and where it was measured. Kept results are read by people and compared by
// programs, so a smoke run is never among them.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { progress, repository } from './workbench.ts';

interface Machine {
  readonly cores: number;
  readonly cpu: string;
  readonly node: string;
  /** Null where no database took part. */
  readonly postgres: string | null;
}

interface PeerResult {
  readonly name: string;
  readonly version: string;
  readonly per_second: number;
  readonly processes: number;
  readonly cpu_seconds_per_1000: number;
  readonly receiver_cpu_seconds_per_1000: number;
  /** Cores that programs outside the benchmark kept busy meanwhile: with more than 0.2 the rates are not an idle machine's. */
  readonly foreign_cores: number;
  readonly note: string;
}

/** Every kind of process of ours with a number. */
export type ByProcess = Readonly<Record<'api' | 'worker' | 'supervisor' | 'postgres', number>>;

export interface SendFigures {
  readonly per_second: number;
  readonly processes: { readonly api: number; readonly worker: number };
  /** All of ours together, the database included. */
  readonly cpu_seconds_per_1000: number;
  readonly cpu_seconds_per_1000_by_process: ByProcess;
  readonly receiver_cpu_seconds_per_1000: number;
  readonly foreign_cores: number;
  /** The most that one process of the kind ever had resident; a connection's share of the database's buffers included. */
  readonly rss_mb: ByProcess;
  readonly bytes_per_delivery: { readonly row_and_key: number; readonly with_person_index: number };
  /** Until `POST /v1/messages` was answered, which waits for no delivery here. */
  readonly accept_ms: number;
  /** From the request to the commit of the last delivery. */
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
  /** With a latency: our rate by what it is without. */
  readonly ratio_latency?: number;
  /** With refusals: the rate of the same run without them, and ours by it. */
  readonly refusals?: {
    readonly share: number;
    readonly refused: number;
    readonly per_second_without: number;
    readonly ratio: number;
  };
  /** With another number of devices than usual: the kept result of the usual number, and our rate by its. */
  readonly beside?: {
    readonly devices: number;
    readonly per_second: number;
    readonly commit: string;
    readonly ratio: number;
  };
}
interface IdleFigures {
  /** Of the service's database, reads included. */
  readonly commits_per_second: number;
  /** Of one core. */
  readonly postgres_cpu_percent: number;
  readonly notifies_per_second: number;
  readonly connections: number;
  readonly foreign_cores: number;
}

export type IdleMeasured = Measured<'idle', IdleFigures>;
export type LatencyMeasured = Measured<'latency', LatencyFigures>;
export type StartMeasured = Measured<'start', StartFigures>;

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
  /** Stored for good, through HTTP. */
  readonly per_second: number;
  /** Of a request of fifty. */
  readonly ms_p50: number;
  readonly ms_p99: number;
  readonly processes: { readonly api: number; readonly worker: number };
  readonly cpu_seconds_per_1000_by_process: ByProcess;
  readonly load_cpu_seconds_per_1000: number;
  readonly foreign_cores: number;
  readonly rss_mb: ByProcess;
  /** On disk with all indexes, by table. */
  readonly bytes_per_event: Readonly<Record<'events' | 'event_ids' | 'subject_events', number>>;
  /** The rate while every device is seen again after an hour. */
  readonly per_second_all_devices_waking: number;
}

export interface EventsMeasured extends Measured<'events', EventFigures> {
  readonly limit: { readonly name: string; readonly per_second: number; readonly foreign_cores: number };
  readonly ratio_limit: number;
}

/** One endpoint, on the plan `unlimited`, asked as fast as it answers. */
export interface EndpointFigures {
  readonly per_second: number;
  readonly ms_p50: number;
  readonly ms_p99: number;
  /** Milliseconds of CPU that a request costs the process of the API, and PostgreSQL. */
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
  /** Five times what the service can take; what was offered is less where the generator did not keep up. */
  readonly meant_per_second: number;
  readonly offered_per_second: number;
  readonly admitted_per_second: number;
  readonly admitted_ms_p99: number;
  readonly refused_per_second: number;
  readonly refused_ms_p99: number;
  /** Answers that were neither 200 nor 503, lost connections among them. */
  readonly other: number;
  /** Of the API's process, resident, before and after. */
  readonly rss_mb_before: number;
  readonly rss_mb_after: number;
  readonly recovery_seconds: number;
}

/** What an app got while another flooded. */
export interface BesideFlood {
  readonly answers: number;
  readonly ms_p99: number;
  readonly unavailable: number;
  readonly other: number;
  /** What the flood was answered, by status. */
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
  readonly under_limits: UnderLimits;
  readonly overload: OverloadFigures;
  readonly neighbour: NeighbourFigures;
}

interface AudienceFilter {
  readonly name: string;
  /** Null: it was refused, since it takes too long. */
  readonly count: number | null;
  readonly ms_p50_warm: number;
}

export interface AudienceMeasured {
  readonly work: 'audience';
  readonly params: Readonly<Record<string, string | number | boolean>>;
  readonly devices: number;
  readonly filters: readonly (AudienceFilter & {
    /** It matches few: what an index alone should answer. */
    readonly selective: boolean;
    /** The first time after the database was started. */
    readonly ms_p50_cold: number;
    readonly ms_p50_no_index: number;
    /** COUNT(*) over the same devices with their properties in one column of JSONB, asked of the database directly. */
    readonly ms_p50_jsonb: number;
    readonly ratio_jsonb: number;
  })[];
  readonly snapshot_seconds: number;
  readonly upserts_per_second: { readonly no_index: number; readonly ten_indexes: number };
  readonly growth: readonly { readonly devices: number; readonly filters: readonly AudienceFilter[] }[];
  readonly foreign_cores: number;
}

interface WebhooksFigures {
  /** Requests to one healthy endpoint whose outbox is full. */
  readonly per_second: number;
  /** The same to as many endpoints as there are senders. */
  readonly per_second_many: number;
  /** From an outcome to its request, where outcomes come no faster than they can be told. */
  readonly ms_p50: number;
  readonly ms_p99: number;
  /** Pushes, where apps send as fast as it goes. */
  readonly send_per_second: number;
  /** Of a push and the request that tells of it. */
  readonly send_cpu_seconds_per_1000: number;
  readonly processes: { readonly api: number; readonly worker: number };
  /** Of one endpoint's events; all of ours together. */
  readonly cpu_seconds_per_1000: number;
  readonly cpu_seconds_per_1000_by_process: ByProcess;
  readonly receiver_cpu_seconds_per_1000: number;
  readonly rss_mb: ByProcess;
  readonly foreign_cores: number;
}

/** The same again beside something that should cost nothing; ratios are to what it is without. */
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
  /** The same apps send the same, beside webhooks that are never answered. */
  readonly black_holes: Beside & { readonly requests: number };
  /** And beside the events that a disabled webhook holds. */
  readonly held: Beside;
}

export interface ReportsMeasured
  extends Measured<
    'reports',
    {
      /** From the request to the whole answer. */
      readonly revenue_ms_p50: number;
      readonly revenue_ms_p95: number;
      readonly revenue_by_day_ms_p50: number;
      readonly events_ms_p50: number;
      /** To class and store them, by one process. */
      readonly seconds_per_100000_purchases: number;
      /** To sum up all events anew. */
      readonly rebuild_seconds: number;
      readonly foreign_cores: number;
    }
  > {
  readonly raw: { readonly name: string; readonly ms: number };
  readonly ratio_raw: number;
}

interface BesideReads {
  readonly ms_p50: number;
  readonly ms_p99: number;
  /** To what they are alone. */
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
    /** Of the whole walk. */
    readonly pages: number;
    /** From the request of the first page to its whole answer. */
    readonly ms_p50: number;
    readonly ms_p95: number;
  }[];
  /** Another app's reads, alone and beside twenty at once that match nothing, where batches know their kinds and where not. */
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
    /** The most that the command ever had resident, by the rows of the file. */
    readonly rss_mb: Readonly<Record<string, number>>;
    readonly foreign_cores: number;
  };
  /** The first of the same rows as requests: one for each device, one for each user. */
  readonly api: { readonly per_second: number; readonly rows: number; readonly in_flight: number };
  readonly ratio_api: number;
}

/** What a work hands over; the name of the database is the one thing of the machine that only it knows. */
export type AnyMeasured =
  | ApiMeasured
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
  | TimelineMeasured;

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

/** Short hash of the commit, with `-dirty` where the tree differs from it in more than kept results. */
function findCommit(): string {
  const git = (...parameters: string[]): string =>
    execFileSync('git', parameters, { cwd: repository, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    const changed = git('status', '--porcelain', '--untracked-files=no', '--', '.', ':(exclude)bench/results');
    return git('rev-parse', '--short', 'HEAD') + (changed === '' ? '' : '-dirty');
  } catch {
    // A copy without its history.
    return 'unknown';
  }
}

const directory = join(repository, 'bench/results');

/** The result that was kept last under a name. */
export function findKept(name: string): Result | undefined {
  const file = join(directory, `${name}.json`);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Result) : undefined;
}

/** Writes `bench/results/NAME.json`; a smoke run is written beside it, under a name that git ignores. */
export function keepResult(name: string, isQuick: boolean, result: Result): void {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, isQuick ? `${name}.quick.json` : `${name}.json`);
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
  progress(`kept in ${file}`);
}
