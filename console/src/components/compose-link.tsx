// The way into the composer from an object that a message may start from. Who may not send sees
// none.
import { Button } from '@mantine/core';
import { Link } from 'react-router';
import { useMay } from '../api/session.ts';
import { type ComposeFrom, paths } from '../paths.ts';

interface ComposeLinkProps {
  readonly app: string;
  readonly from?: ComposeFrom;
  readonly label: string;
}

export function ComposeLink({ app, from = {}, label }: ComposeLinkProps) {
  const { may } = useMay('message.send');
  if (!may) return null;
  return (
    <Button component={Link} to={paths.compose(app, from)} variant="default">
      {label}
    </Button>
  );
}
