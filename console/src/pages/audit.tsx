// The audit log: who changed what, when, from where. Entries are never changed.
import { Button, TextInput } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { Link } from 'react-router';
import { readCsv } from '../api/client.ts';
import type { AuditEntry } from '../api/objects.ts';
import { pagesOf } from '../api/queries.ts';
import { useAppId, useSession } from '../api/session.ts';
import { tellEntry } from '../components/audit-change.ts';
import { AuditTarget } from '../components/audit-target.tsx';
import { actorKindNames } from '../components/author.ts';
import { SearchField } from '../components/filter-fields.tsx';
import { List, useFilters } from '../components/list.tsx';
import { ProblemPanel } from '../components/problem.tsx';
import { paths } from '../paths.ts';
import { Card } from '../ui/card.tsx';
import { Empty } from '../ui/empty.tsx';
import { Filters, PageHead } from '../ui/page-head.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';
import { saveFile } from '../ui/save-file.ts';
import type { Column } from '../ui/virtual-rows.tsx';

const columnsOf = (app: string | undefined): readonly Column<AuditEntry>[] => [
  { name: 'When', width: '120px', onCard: 'aside', cell: ({ at }) => <RelativeTime at={at} /> },
  {
    name: 'Who',
    width: 'minmax(200px, 1.5fr)',
    cell: ({ actor, address }) => (
      <span title={address === null ? actor.name : `${actor.name}, ${address}`}>
        {actor.name} {actor.kind !== 'person' && <span className="muted">{actorKindNames[actor.kind]}</span>}
      </span>
    ),
  },
  {
    name: 'Action',
    width: 'minmax(176px, 1fr)',
    onCard: 'title',
    cell: ({ id, action }) => (
      <Link className="mono" to={paths.auditEntry(app, id)}>
        {action}
      </Link>
    ),
  },
  { name: 'Target', width: 'minmax(212px, 1.5fr)', cell: (entry) => entry.target && <AuditTarget entry={entry} /> },
  {
    name: 'Change',
    width: 'minmax(160px, 2fr)',
    cell: (entry) => {
      const told = tellEntry(entry);
      return told === '' ? null : <span title={told}>{told}</span>;
    },
  },
];

/** The entries of one app, among its settings. */
export function Audit() {
  return <Entries app={useAppId()} />;
}

/** All entries of the organisation: people, tokens, the service, and those of every app. */
export function OrganisationAudit() {
  const { organisation } = useSession();
  return (
    <>
      <PageHead
        title={`Audit of ${organisation.name}`}
        answer="Who changed what, in the organisation and all its apps."
      />
      <Entries app={undefined} />
    </>
  );
}

function Entries({ app }: { app: string | undefined }) {
  const { filters, set, field, from } = useFilters(['q', 'since', 'until']);
  const range = { q: filters.q, from: startOf(filters.since), to: endOf(filters.until) };
  const query = useInfiniteQuery(
    app === undefined ? pagesOf('listOrganisationAudit', range, from) : pagesOf('listAudit', { app, ...range }, from),
  );
  const csv = useMutation({
    mutationFn: () =>
      app === undefined ? readCsv('listOrganisationAudit', range) : readCsv('listAudit', { app, ...range }),
    onSuccess: (text) => saveFile('audit.csv', new Blob([text], { type: 'text/csv' })),
  });
  const isFiltered = Boolean(filters.q || filters.since || filters.until);
  const newest = query.data?.pages[0]?.data[0];
  return (
    <Card
      title={app === undefined ? 'Entries' : 'Audit'}
      isFlush
      actions={
        <Button
          variant="default"
          loading={csv.isPending}
          onClick={() => csv.mutate()}
          leftSection={<IconDownload size={16} aria-hidden />}
        >
          CSV
        </Button>
      }
    >
      {newest && from === undefined && (
        <p className="headline" style={{ padding: '0 16px' }}>
          The latest{isFiltered ? ' of these' : ''} is{' '}
          <Link className="mono" to={paths.auditEntry(app, newest.id)}>
            {newest.action}
          </Link>{' '}
          by {newest.actor.name}, <RelativeTime at={newest.at} />.
        </p>
      )}
      <Filters>
        <SearchField label="Find" placeholder="Action, target or person" {...field('q')} />
        <TextInput
          type="date"
          label="From"
          value={filters.since ?? ''}
          onChange={({ currentTarget }) => set('since', currentTarget.value)}
        />
        <TextInput
          type="date"
          label="To"
          value={filters.until ?? ''}
          onChange={({ currentTarget }) => set('until', currentTarget.value)}
        />
      </Filters>
      {csv.error && <ProblemPanel error={csv.error} />}
      <List
        label="Audit"
        query={query}
        columns={columnsOf(app)}
        keyOf={({ id }) => id}
        minWidth={980}
        empty={
          <Empty title="No entries">
            {isFiltered
              ? 'Nothing matches. Change the filters above.'
              : 'Every change by the console, a token or the command line is listed here.'}
          </Empty>
        }
      />
    </Card>
  );
}

/** The days of the address are days of the viewer's own zone. */
function startOf(day: string | undefined): string | undefined {
  return day && new Date(`${day}T00:00:00`).toISOString();
}

function endOf(day: string | undefined): string | undefined {
  if (!day) return undefined;
  const end = new Date(`${day}T00:00:00`);
  end.setDate(end.getDate() + 1);
  return end.toISOString();
}
