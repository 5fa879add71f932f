// Stands where the service left a value of people out, because the person's role does not see it.
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

/** Says once on a page why values are missing; nothing to those who see them. */
export function HiddenValuesNote() {
  const { may } = useMay('value.read');
  return may ? null : <p className="muted">Members and above see values of people.</p>;
}
