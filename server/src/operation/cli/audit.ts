// `audit`: lists who changed what, newest first: of one app, or of every app and of the service
// itself. The console lists one organisation's changes; only the machine's operator sees all.
import { z } from 'zod';
import { instantText } from '../../ground/http/schemas.ts';
import { encodeId, nilUuid } from '../../ground/values/ids.ts';
import { listApps } from '../../teams/apps/queries.ts';
import { describeActor } from '../../teams/audit/actor.ts';
import { type AuditEntry, presentEntry } from '../../teams/audit/entry.ts';
import { listEntries } from '../../teams/audit/queries.ts';
import { dateOf, wholeBetween } from './command.ts';
import { databaseCommand } from './database-command.ts';
import { getApp } from './find-app.ts';
import { table } from './render.ts';

const limitMax = 10_000;

export const commands = [
  databaseCommand({
    form: 'audit [APP]',
    help: 'list who changed what, newest first: of one app, or of all and of the service',
    fields: {
      app: z.string().optional(),
      from: instantText.optional(),
      to: instantText.optional(),
      limit: wholeBetween(1, limitMax).default(50),
    },
    writes: {
      from: '  changes from then on',
      to: '  changes before then',
      limit: `--limit <N>  how many, 1 to ${limitMax}`,
    },
    async run({ sql }, { app: name, from, to, limit }) {
      const appId = name === undefined ? null : (await getApp(sql, name)).id;
      const period = { from: dateOf(from), to: dateOf(to), beforeId: null };
      const found = await listEntries(sql, { ...period, appId, limit: limit + 1 });
      const entries = found.slice(0, limit);
      const names = new Map((await listApps(sql)).map((app) => [app.id, app.name]));
      const rows = entries.map((entry) => [
        entry.at.toISOString(),
        describeActor({ kind: entry.actorKind, name: entry.actorName }),
        entry.action,
        // A deleted app has its id alone, and a change of the service itself has none.
        entry.appId === nilUuid ? '-' : (names.get(entry.appId) ?? encodeId('app', entry.appId)),
        entry.target ?? '-',
        describeChange(entry),
      ]);
      const hasMore = found.length > limit;
      const more = hasMore ? '\n\nThere are more; see them with: --limit or --to' : '';
      const shown = table(['TIME', 'WHO', 'ACTION', 'APP', 'TARGET', 'CHANGE'], rows);
      const data = entries.map((entry) => ({ id: entry.id, ...presentEntry(entry) }));
      return {
        document: { data, has_more: hasMore, next_cursor: null },
        text: rows.length === 0 ? 'Nothing is recorded.' : `${shown}${more}`,
      };
    },
  }),
];

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
