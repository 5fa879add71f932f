// When two people edit one object, shows the second which fields the first has changed.
import { Alert } from '@mantine/core';
import { Problem } from '../api/client.ts';
import { type Change, changesOf } from './draft-merge.ts';
import { ProblemPanel } from './problem.tsx';

export function ChangeList({ changes }: { changes: readonly Change[] }) {
  return (
    <ul style={{ margin: '8px 0', paddingInlineStart: 20 }}>
      {changes.map(({ field, before, theirs, yours }) => (
        <li key={field}>
          {nameOf(field)}: changed from <Told value={before} /> to <Told value={theirs} />
          {yours !== undefined && (
            <>
              ; you typed <Told value={yours} />
            </>
          )}
        </li>
      ))}
      {changes.length === 0 && <li>Nothing that is shown here.</li>}
    </ul>
  );
}

interface ActProblemProps<Seen extends object> {
  readonly error: unknown;
  /** The object as this person read it. */
  readonly seen: Seen;
  /** The fields to compare. */
  readonly fields: readonly (keyof Seen & string)[];
}

/**
 * The reason why an act without a form failed. Another person's change is listed field by field.
 */
export function ActProblem<Seen extends object>({ error, seen, fields }: ActProblemProps<Seen>) {
  if (!(error instanceof Problem && error.isChangedMeanwhile)) return <ProblemPanel error={error} />;
  const pick = (from: object) => Object.fromEntries(fields.map((field) => [field, (from as Seen)[field]]));
  return (
    <Alert color="yellow" title="Somebody else changed this meanwhile" role="alert">
      <p style={{ margin: 0 }}>Nothing is saved yet. Look at the change, then choose again.</p>
      <ChangeList changes={changesOf(pick(seen), pick(seen), pick(error.present as object))} />
    </Alert>
  );
}

/** `default_url` reads as `Default url`. */
function nameOf(field: string): string {
  return field.slice(0, 1).toUpperCase() + field.slice(1).replaceAll('_', ' ');
}

function Told({ value }: { value: unknown }) {
  if (value === '' || value === null || value === undefined || (Array.isArray(value) && value.length === 0))
    return <em>nothing</em>;
  if (typeof value === 'boolean') return <strong>{value ? 'on' : 'off'}</strong>;
  if (typeof value === 'object' && !Array.isArray(value)) return <code className="mono">{JSON.stringify(value)}</code>;
  return <strong>{Array.isArray(value) ? value.join(', ') : String(value)}</strong>;
}
