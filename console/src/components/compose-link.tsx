// Links to the composer: from an object with which a message may start, and from an empty list.
// People who may not send see no link.
import { Button } from '@mantine/core';
import { Link } from 'react-router';
import { useMay } from '../api/session.ts';
import { type ComposeFrom, paths } from '../paths.ts';

interface ComposeLinkProps {
  readonly app: string;
  readonly from?: ComposeFrom;
  readonly label: string;
  /** True: composing is the main act of the page. */
  readonly isMain?: boolean;
}

export function ComposeLink({ app, from = {}, label, isMain = false }: ComposeLinkProps) {
  const { may } = useMay('message.send');
  if (!may) return null;
  return (
    <Button component={Link} to={paths.compose(app, from)} variant={isMain ? 'filled' : 'default'}>
      {label}
    </Button>
  );
}

/** How the first message is sent, above the command that does it. */
export function HowToSend({ app }: { app: string }) {
  const { may } = useMay('message.send');
  if (!may) return 'This command sends to every device of the app.';
  return (
    <>
      <Link to={paths.compose(app)}>Compose a message</Link>, or send to every device with this command.
    </>
  );
}
