// The audience of the message: everybody, a segment, a filter, or people and devices by name, with
// the exact number of devices as it is now.
import { Select, Textarea } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useRef, useState } from 'react';
import { Link } from 'react-router';
import { useAnswer } from '../../api/queries.ts';
import { count } from '../../format.ts';
import { paths } from '../../paths.ts';
import { Card } from '../../ui/card.tsx';
import { FilterBuilder, readFilter, useFilterTree } from '../filter-builder/filter-builder.tsx';
import { type useLiveCount, WholeCount } from '../filter-builder/live-count.tsx';
import { Choice } from './choice.tsx';
import { type Audience, type AudienceKind, audienceOf, kindOf, readIds } from './message-form.ts';
import { useDeferred } from './use-deferred.ts';

const kinds: readonly { readonly value: AudienceKind; readonly label: string }[] = [
  { value: 'all', label: 'Everyone' },
  { value: 'segment_id', label: 'A segment' },
  { value: 'filter', label: 'A filter' },
  { value: 'external_ids', label: 'Users by id' },
  { value: 'device_ids', label: 'Devices by id' },
];

interface WhoProps {
  readonly app: string;
  readonly audience: Audience;
  readonly excluded: string | null;
  readonly onChange: (audience: Audience) => void;
  readonly onExclude: (segment: string | null) => void;
  readonly live: ReturnType<typeof useLiveCount>;
  readonly warnings: readonly string[];
}

export function Who(props: WhoProps) {
  const { app, audience, excluded, onChange, onExclude, live, warnings } = props;
  const kind = kindOf(audience);
  // The input of each kind is kept, so that a person who switches to another kind and back finds it
  // again.
  const kept = useRef<Partial<Record<AudienceKind, Audience>>>({});
  const choose = (next: AudienceKind) => {
    kept.current[kind] = audience;
    onChange(kept.current[next] ?? audienceOf(next));
  };
  return (
    <Card title="Who">
      <div className="stack" style={{ gap: 12 }}>
        <Choice label="Audience" value={kind} options={kinds} onChange={choose} />
        {kind === 'segment_id' && (
          <SegmentSelect
            app={app}
            label="Segment"
            value={audience.segment_id || null}
            onChange={(id) => onChange({ segment_id: id ?? '' })}
          />
        )}
        {kind === 'filter' && (
          <FilterField app={app} filter={audience.filter} onChange={(filter) => onChange({ filter })} />
        )}
        {kind === 'external_ids' && (
          <IdsField
            label="External ids of users"
            ids={audience.external_ids ?? []}
            onChange={(ids) => onChange({ external_ids: ids })}
          />
        )}
        {kind === 'device_ids' && (
          <IdsField
            label="Ids of devices"
            ids={audience.device_ids ?? []}
            onChange={(ids) => onChange({ device_ids: ids })}
          />
        )}
        <SegmentSelect
          app={app}
          label="Except those in"
          placeholder="Nobody is left out"
          value={excluded}
          onChange={onExclude}
          isClearable
        />
        {(kind !== 'filter' || excluded !== null) && <WholeCount live={live} />}
        {kind === 'all' && live.counted?.count === 0 && (
          <p className="muted" style={{ margin: 0 }}>
            No device is active. <Link to={paths.overview(app)}>The set-up guide</Link> says how to register one.
          </p>
        )}
        {warnings.length > 0 && (
          <ul className="compose-warnings" aria-label="Warnings about the audience">
            {warnings.map((warning) => (
              <li key={warning}>{warning}</li>
            ))}
          </ul>
        )}
        {kind === 'segment_id' && (
          <Link to={paths.segments(app)} className="plain-link">
            All segments
          </Link>
        )}
      </div>
    </Card>
  );
}

/** An incomplete filter stays in the form and is not counted. */
function FilterField({ app, filter, onChange }: { app: string; filter: unknown; onChange: (filter: unknown) => void }) {
  const { tree, set } = useFilterTree(filter, onChange);
  return (
    <>
      <FilterBuilder appId={app} value={tree} onChange={set} />
      {readFilter(tree) === null && <span className="muted">The filter is not complete yet.</span>}
    </>
  );
}

interface SegmentSelectProps {
  readonly app: string;
  readonly label: string;
  readonly placeholder?: string;
  readonly value: string | null;
  readonly onChange: (segment: string | null) => void;
  readonly isClearable?: boolean;
}

const segmentsShown = 50;

function SegmentSelect({ app, label, placeholder, value, onChange, isClearable = false }: SegmentSelectProps) {
  const [search, setSearch] = useState('');
  const [asked] = useDebouncedValue(search.trim(), 150);
  const listed = useAnswer(
    'listSegments',
    { app, limit: segmentsShown, q: asked.slice(0, 128) },
    { placeholderData: (before) => before },
  );
  // The chosen segment is shown by name even if it is not among the first.
  const chosen = useAnswer('getSegment', { app, id: value ?? '' }, { enabled: value !== null, retry: false });
  const found = (listed.data?.data ?? []).map(({ id, name }) => ({ value: id, label: name }));
  const isListed = found.some((each) => each.value === value);
  const own = value !== null && !isListed ? [{ value, label: chosen.data?.name ?? value }] : [];
  const notFound = chosen.error ? 'This segment no longer exists.' : null;
  const invalid = chosen.data?.valid === false ? 'This segment names a property that no longer exists.' : null;
  return (
    <Select
      label={label}
      placeholder={placeholder ?? 'Choose a segment'}
      searchable
      clearable={isClearable}
      allowDeselect={isClearable}
      data={[...own, ...found]}
      value={value}
      onChange={onChange}
      searchValue={search}
      onSearchChange={setSearch}
      filter={({ options }) => options}
      nothingFoundMessage={listed.isFetching ? 'Searching…' : 'No segment begins with this text'}
      error={notFound ?? invalid}
    />
  );
}

interface IdsFieldProps {
  readonly label: string;
  readonly ids: readonly string[];
  readonly onChange: (ids: readonly string[]) => void;
}

const idsMax = 10_000;
const oneALine = (text: string): string => readIds(text).join('\n');

function IdsField({ label, ids, onChange }: IdsFieldProps) {
  const field = useDeferred(ids.join('\n'), (text) => onChange(readIds(text)), oneALine);
  const given = readIds(field.text).length;
  return (
    <Textarea
      label={label}
      description={given > 0 ? count(given, 'id') : 'One a line, or with commas between'}
      error={given > idsMax ? 'At most 10,000 ids. A segment or a filter has no limit.' : null}
      rows={5}
      className="ids-field"
      value={field.text}
      onBlur={field.settle}
      onChange={({ currentTarget }) => field.set(currentTarget.value)}
    />
  );
}
