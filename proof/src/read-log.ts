// Names the statements that read most rows of a table, from the log of the database's server. The
// log has the plan of every twentieth statement, and each slow statement. PostgreSQL's own counters
// do not show which statement read which rows.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Sql } from '@carillon/postgres';

const sampleRate = 0.05;
/**
 * Milliseconds. Statements slower than this are logged too, because a statement that runs once is
 * seldom sampled. Reading 30,000 rows takes longer.
 */
const slowMs = 5;
const wordsShown = 110;

const settings = {
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.sample_rate': String(sampleRate),
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_timing': 'off',
  'auto_explain.log_format': 'json',
  log_min_duration_statement: String(slowMs),
  log_parameter_max_length: '0',
};

/**
 * Makes the server log the reads of new connections to a database. Does nothing if the role is no
 * superuser, or if the library is missing.
 */
export async function logReads(sql: Sql, database: string): Promise<void> {
  const superuser = await sql`SELECT FROM pg_roles WHERE rolname = current_user AND rolsuper`;
  if (superuser.length === 0) return;
  try {
    // A connection that preloads a missing library is refused.
    await sql`LOAD 'auto_explain'`;
  } catch {
    return;
  }
  for (const [setting, value] of Object.entries(settings))
    await sql.unsafe(`ALTER DATABASE ${database} SET ${setting} = '${value}'`);
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows'?: number;
  readonly 'Actual Loops'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

function rowsReadBy(node: PlanNode): number {
  const rows =
    (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  return rows * (node['Actual Loops'] ?? 0);
}

const firstWords = (statement: string): string => statement.replace(/\s+/g, ' ').trim().slice(0, wordsShown);

/**
 * Milliseconds that an idle connection may keep its counts before it adds them to the table's
 * (PostgreSQL 15). Rows that are counted now may have been read this long ago.
 */
const countedLateMs = 10_000;

/** A log of a server on this machine. */
export class ReadLog {
  readonly #path: string;
  /** Positions in the log with their times, the latest last. */
  readonly #places: { atMs: number; place: number }[] = [];

  constructor(path: string) {
    this.#path = path;
  }

  /** Notes that rows will be counted from now on. */
  async begin(): Promise<void> {
    this.#places.push({ atMs: performance.now(), place: (await stat(this.#path)).size });
  }

  /**
   * Returns the statements that read most of a table since `begin` (or so shortly before that their
   * rows may be counted), and the slow statements that name the table.
   */
  async tell(table: string): Promise<string[]> {
    const earliest = (this.#places.at(-1)?.atMs ?? 0) - countedLateMs;
    const since = this.#places.findLast(({ atMs }) => atMs <= earliest)?.place ?? 0;
    const reads = new Map<string, { times: number; rows: number }>();
    const slow: { words: string; ms: number }[] = [];
    // Further lines of an entry begin with a tab.
    for (const entry of (await text(createReadStream(this.#path, { start: since }))).split(/\n(?!\t)/)) {
      const [, ms, plan, statement] =
        /LOG: {2}duration: ([\d.]+) ms {2}(?:plan:\n([\s\S]*)|(?:statement|execute [^:]*): ([\s\S]*))/.exec(entry) ??
        [];
      if (plan !== undefined) {
        const { 'Query Text': planned, Plan } = JSON.parse(plan) as { 'Query Text': string; Plan: PlanNode };
        for (const node of nodesOf(Plan)) {
          const relation = node['Relation Name'];
          if (node['Node Type'] === 'ModifyTable' || !(relation === table || relation?.startsWith(`${table}_2`)))
            continue;
          const by = [node['Node Type'], node['Index Name']].filter(Boolean).join(' by ');
          const what = `${by}: ${firstWords(planned)}`;
          const { times, rows } = reads.get(what) ?? { times: 0, rows: 0 };
          reads.set(what, { times: times + 1, rows: rows + rowsReadBy(node) });
        }
      } else if (statement !== undefined && new RegExp(`\\b${table}\\b`).test(statement)) {
        slow.push({ words: firstWords(statement), ms: Number(ms) });
      }
    }
    const most = [...reads].sort(([, one], [, other]) => other.rows - one.rows).slice(0, 2);
    const slowest = slow.sort((one, other) => other.ms - one.ms).slice(0, 2);
    return [
      ...most.map(
        ([what, { times, rows }]) => `${Math.round(rows / times)} rows each of ${times} sampled times by ${what}`,
      ),
      ...slowest.map(({ words, ms }) => `${ms.toFixed(0)} ms: ${words}`),
    ];
  }
}
