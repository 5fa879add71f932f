// `audit`: lists who changed what, newest first.
import type { Command } from 'commander';
import { listApps } from '../apps/queries.ts';
import { describeActor } from '../audit/actor.ts';
import { type AuditEntry, presentEntry } from '../audit/entry.ts';
import { listEntries } from '../audit/queries.ts';
import { encodeId, nilUuid, type Uuid } from '../ground/ids.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { type Answer, type AnswerOptions, answer, table, withJson } from './answer.ts';
import { withDatabase } from './context.ts';
import { getApp } from './find-app.ts';
import { readTime } from './read-time.ts';
import { wholeNumber } from './whole-number.ts';

interface AuditOptions extends AnswerOptions {
  readonly from?: string;
  readonly to?: string;
  readonly limit: number;
}

const limitMax = 10_000;
const limitDefault = 50;

export function addAuditCommand(program: Command): void {
  withJson(program.command('audit [APP]'))
    .description('list who changed what, newest first: of one app, or of all and of the service')
    .option('--from <TIME>', 'changes from then on')
    .option('--to <TIME>', 'changes before then')
    .option('--limit <N>', `how many, 1 to ${limitMax}`, wholeNumber('--limit', 1, limitMax), limitDefault)
    .action((app: string | undefined, options: AuditOptions) => answer(options, () => list(app, options)));
}

async function list(appName: string | undefined, { from, to, limit }: AuditOptions): Promise<Answer> {
  const filter = {
    from: from === undefined ? null : readTime('--from', from),
    to: to === undefined ? null : readTime('--to', to),
    beforeId: null,
    limit: limit + 1,
  };
  return withDatabase(loadCommandConfig(), async ({ sql }) => {
    const app = appName === undefined ? undefined : await getApp(sql, appName);
    const found = await listEntries(sql, { ...filter, appId: app?.id ?? null });
    const entries = found.slice(0, limit);
    const names = new Map((await listApps(sql)).map(({ id, name }) => [id, name]));
    const rows = entries.map((entry) => [
      entry.at.toISOString(),
      describeActor({ kind: entry.actorKind, name: entry.actorName }),
      entry.action,
      nameOfApp(entry.appId, names),
      entry.target ?? '-',
      describeChange(entry),
    ]);
    const more = found.length > limit ? `\n\nThere are more; see them with: --limit or --to` : '';
    return {
      document: { entries: entries.map(presentEntry), has_more: found.length > limit },
      text:
        rows.length === 0
          ? 'Nothing is recorded.'
          : `${table(['TIME', 'WHO', 'ACTION', 'APP', 'TARGET', 'CHANGE'], rows)}${more}`,
    };
  });
}

/** Returns the app's name, the id of a deleted app, or `-` for a change of the service itself. */
function nameOfApp(id: Uuid, names: ReadonlyMap<Uuid, string>): string {
  return id === nilUuid ? '-' : (names.get(id) ?? encodeId('app', id));
}

/** Describes each field that is named before or after a change, such as `plan free → pro`. */
function describeChange({ before, after }: AuditEntry): string {
  const fields = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...fields]
    .map((field) => {
      const was = before && Object.hasOwn(before, field) ? `${describeValue(before[field])} → ` : '';
      const is = after && Object.hasOwn(after, field) ? describeValue(after[field]) : 'gone';
      return `${field} ${was}${is}`;
    })
    .join(', ');
}

function describeValue(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (Array.isArray(value)) return value.length === 0 ? 'all' : value.join(' ');
  return String(value);
}
