// The area Audit: who changed what, of an app and of the organisation, as a list or as CSV.

import { z } from 'zod';
import { type Cursors, pageQuery, toPage } from '../../ground/http/page.ts';
import { ok } from '../../ground/http/route.ts';
import { component, instant, instantText, pageComponent } from '../../ground/http/schemas.ts';
import { Answer } from '../../ground/http/server.ts';
import { textCell, writeRow } from '../../ground/values/csv.ts';
import { type AuditEntry, presentEntry } from '../../teams/audit/entry.ts';
import { listEntries, listOrganisationEntries } from '../../teams/audit/queries.ts';
import { routesOfApp, routesOfOrganisation } from './area.ts';
import { appId, searchField } from './schemas.ts';

const entry = component(
  'AuditEntry',
  z.strictObject({
    id: z.string(),
    at: instant,
    actor: z.strictObject({
      kind: z.enum(['person', 'token', 'key', 'cli', 'service']),
      id: z.string().nullable(),
      name: z.string(),
    }),
    address: z.string().nullable().describe('The network address that sent the request.'),
    action: z.string().describe('As `noun.verb`.'),
    app_id: appId.nullable(),
    target: z.string().nullable(),
    before: z.record(z.string(), z.unknown()).nullable(),
    after: z.record(z.string(), z.unknown()).nullable(),
  }),
  {
    id: '01930000-0000-7000-8000-000000000001',
    at: '2026-11-21T10:15:30.123Z',
    actor: { kind: 'person', id: 'acc_02y9GVDsTuJUi2BOoCH5G3', name: 'anna@shop.example' },
    address: '192.0.2.7',
    action: 'app.plan',
    app_id: 'app_02y9GVDsTuJUi2BOoCH5G3',
    target: 'app_02y9GVDsTuJUi2BOoCH5G3',
    before: { plan: 'free' },
    after: { plan: 'pro' },
  },
);
const page = pageComponent('AuditPage', entry);
const query = z.strictObject({
  ...pageQuery(200),
  q: searchField
    .describe('The id of an entry, or another id, or the beginning of an action, a target or a name.')
    .optional(),
  from: instantText.optional(),
  to: instantText.optional(),
});
const answers = ok('Newest first. With `Accept: text/csv` as CSV, up to 10,000 rows.', page);
const csvRowsMax = 10_000;

const ofApp = routesOfApp('Audit');
const own = routesOfOrganisation('Audit');

interface Asked {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly q?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}
type List = (filter: {
  readonly from: Date | null;
  readonly to: Date | null;
  readonly beforeId: string | null;
  readonly limit: number;
  readonly search: string | null;
}) => Promise<readonly AuditEntry[]>;

export const appAuditRoutes = [
  ofApp('listAudit', 'GET /audit', {
    least: 'admin',
    summary: 'Who changed what of an app',
    query,
    answers,
  }).handle(async ({ sql, cursors }, { caller, query: asked, header }) => {
    const list: List = (filter) => listEntries(sql, { ...filter, appId: caller.app.id });
    return answer(cursors, ['audit', caller.app.id], list, asked, header('accept'));
  }),
];

export const auditRoutes = [
  own('listOrganisationAudit', 'GET /audit', {
    least: 'admin',
    summary: 'Who changed what of the organisation and of all its apps, deleted ones too',
    query,
    answers,
  }).handle(async ({ sql, cursors }, { caller, query: asked, header }) => {
    const { organisationId } = caller;
    const list: List = (filter) => listOrganisationEntries(sql, { ...filter, organisationId });
    return answer(cursors, ['audit', organisationId], list, asked, header('accept'));
  }),
];

async function answer(
  cursors: Cursors,
  place: readonly string[],
  list: List,
  { limit, cursor, from, to, q }: Asked,
  accept: readonly string[],
) {
  const search = q ?? null;
  const scope = [...place, from ?? null, to ?? null, search];
  const period = { from: from === undefined ? null : new Date(from), to: to === undefined ? null : new Date(to) };
  if (accept.some((each) => /\btext\/csv\b/i.test(each))) {
    const rows = await list({ ...period, search, beforeId: null, limit: csvRowsMax });
    const headings = [
      'at',
      'actor_kind',
      'actor_id',
      'actor_name',
      'address',
      'action',
      'app_id',
      'target',
      'before',
      'after',
    ];
    const lines = rows.map((row) => writeRow(cellsOf(present(row)).map(textCell)));
    const headers = {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="audit.csv"',
    };
    return new Answer<200, string>(200, headers, [writeRow(headings), ...lines].join(''));
  }
  const [before = null] = cursor === undefined ? [] : cursors.read(cursor, scope);
  const rows = await list({ ...period, search, beforeId: before === null ? null : String(before), limit: limit + 1 });
  return toPage(rows, limit, present, (last) => cursors.write([last.id], scope));
}

function present(entry: AuditEntry) {
  return { id: entry.id, ...presentEntry(entry) };
}

function cellsOf({ at, actor, address, action, app_id, target, before, after }: ReturnType<typeof present>) {
  const json = (fields: object | null): string => (fields === null ? '' : JSON.stringify(fields));
  return [
    at.toISOString(),
    actor.kind,
    actor.id ?? '',
    actor.name,
    address ?? '',
    action,
    app_id ?? '',
    target ?? '',
    json(before),
    json(after),
  ];
}
