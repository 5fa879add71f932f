import { Link } from 'react-router';
import type { AuditEntry } from '../api/objects.ts';
import { pageOfId } from '../paths.ts';

/** The object that was changed, in full. It is a link unless it is gone or has no page. */
export function AuditTarget({ entry: { action, app_id, target } }: { entry: AuditEntry }) {
  if (target === null) return null;
  const isGone = /\.(delete|erase|purge)$/.test(action);
  const to = isGone || app_id === null ? undefined : pageOfId(app_id, target);
  return to === undefined ? (
    <span className="mono">{target}</span>
  ) : (
    <Link className="mono" to={to}>
      {target}
    </Link>
  );
}
