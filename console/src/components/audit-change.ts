// The changes of one entry of the audit log, field by field. Pure.
import type { AuditEntry } from '../api/objects.ts';

export interface FieldChange {
  readonly field: string;
  /** Undefined: there was no such field. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Lists only the fields that differ. */
export function changesOfEntry({ before, after }: Pick<AuditEntry, 'before' | 'after'>): readonly FieldChange[] {
  const fields = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  return fields
    .map((field) => ({ field, before: tellValue(before?.[field]), after: tellValue(after?.[field]) }))
    .filter((change) => change.before !== change.after);
}

/** `name: Shop → Harbour`. A value that is new or gone stands alone. */
export function tellEntry(entry: Pick<AuditEntry, 'before' | 'after'>): string {
  return changesOfEntry(entry)
    .map(({ field, before, after }) => {
      const isChange = entry.before !== null && entry.after !== null;
      return `${field}: ${isChange ? `${before} → ${after}` : (after ?? before)}`;
    })
    .join(', ');
}

/** The values of a list are words, such as the fields of a segment. */
function tellValue(value: unknown): string | undefined {
  if (value === undefined || typeof value === 'string') return value;
  return Array.isArray(value) && value.length > 0 ? value.join(', ') : JSON.stringify(value);
}
