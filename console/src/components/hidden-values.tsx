// Shown where the service omitted a value because of the person's role.
import { useMay } from '../api/session.ts';

/** In the place of one value. */
export function HiddenValue() {
  const { reason } = useMay('value.read');
  return (
    <span className="muted" title={reason ?? undefined}>
      for members
    </span>
  );
}

/** Says once on a page why values are missing. Shows nothing to people who see them. */
export function HiddenValuesNote() {
  const { may } = useMay('value.read');
  return may ? null : <p className="muted">Members and above see values of people.</p>;
}
