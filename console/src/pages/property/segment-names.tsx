// The segments that compare a property.

import { Link } from 'react-router';
import type { SegmentName } from '../../api/objects.ts';
import { paths } from '../../paths.ts';

export function SegmentNames({ app, segments, none }: { app: string; segments: readonly SegmentName[]; none: string }) {
  if (segments.length === 0) return <p style={{ margin: 0 }}>{none}</p>;
  return (
    <ul className="plain-list">
      {segments.map(({ id, name }) => (
        <li key={id}>
          <Link to={paths.segment(app, id)}>{name}</Link>
        </li>
      ))}
    </ul>
  );
}
