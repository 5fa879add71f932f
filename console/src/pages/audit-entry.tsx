// One entry of the audit log: who did what to which object, from where, and the values before and
// after.
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'react-router';
import type { AuditEntry } from '../api/objects.ts';
import { queryOf } from '../api/queries.ts';
import { useAppId } from '../api/session.ts';
import { changesOfEntry } from '../components/audit-change.ts';
import { AuditTarget } from '../components/audit-target.tsx';
import { actorKindNames } from '../components/author.ts';
import { Loaded } from '../components/loaded.tsx';
import { formatExact } from '../format.ts';
import { paths } from '../paths.ts';
import { Card, Facts } from '../ui/card.tsx';
import { CodeBlock, CopyableId } from '../ui/copy.tsx';
import { DataTable } from '../ui/data-table.tsx';
import { Empty } from '../ui/empty.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';

/** An entry of one app, among its settings. */
export function AuditEntryPage() {
  return <Entry app={useAppId()} />;
}

/** An entry of the organisation. */
export function OrganisationAuditEntry() {
  return <Entry app={undefined} />;
}

function Entry({ app }: { app: string | undefined }) {
  const { entry = '' } = useParams();
  const asked = { q: entry, limit: 1 };
  const query = useQuery({
    ...(app === undefined ? queryOf('listOrganisationAudit', asked) : queryOf('listAudit', { app, ...asked })),
    select: ({ data }) => data.find(({ id }) => id === entry) ?? null,
  });
  const list = app === undefined ? paths.organisationAudit : paths.audit(app);
  return (
    <div className="stack">
      <div className="crumbs">
        <Link to={list}>Audit</Link>
      </div>
      <Loaded query={query}>
        {(found) =>
          found === null ? (
            <Card>
              <Empty title="There is no such entry">
                <Link to={list}>See all entries</Link>
              </Empty>
            </Card>
          ) : (
            <Whole entry={found} />
          )
        }
      </Loaded>
    </div>
  );
}

function Whole({ entry }: { entry: AuditEntry }) {
  const { id, at, actor, address, action, app_id, before, after } = entry;
  const changes = changesOfEntry(entry);
  return (
    <>
      <Card title={action}>
        <p className="headline" style={{ marginBottom: 16 }}>
          By {actor.name}, <RelativeTime at={at} />.
        </p>
        <Facts
          facts={[
            ['When', formatExact(at)],
            ['Who', `${actor.name} (${actorKindNames[actor.kind]})`],
            ['From', address ?? 'the computer that runs Carillon'],
            ['Target', <AuditTarget key="target" entry={entry} />],
            [
              'App',
              app_id === null ? null : (
                <Link key="app" className="mono" to={paths.overview(app_id)}>
                  {app_id}
                </Link>
              ),
            ],
            ['Entry', <CopyableId key="id" id={id} />],
          ]}
        />
      </Card>
      <Card title="Change" isFlush>
        {changes.length === 0 ? (
          <p className="muted" style={{ margin: '0 16px 16px' }}>
            The entry names no values.
          </p>
        ) : (
          <DataTable
            label="Change"
            rows={changes}
            keyOf={({ field }) => field}
            columns={[
              { name: 'Field', cell: ({ field }) => <span className="mono">{field}</span> },
              { name: 'Before', isLong: true, cell: (change) => <Value text={change.before} /> },
              { name: 'After', isLong: true, cell: (change) => <Value text={change.after} /> },
            ]}
          />
        )}
      </Card>
      {changes.length > 0 && (
        <Card title="As JSON">
          <CodeBlock label="The entry" code={JSON.stringify({ action, before, after }, null, 2)} isWrapped />
        </Card>
      )}
    </>
  );
}

function Value({ text }: { text: string | undefined }) {
  return text === undefined ? <span className="muted">–</span> : <span className="mono">{text}</span>;
}
