// Your own account: password, second factor, sessions.

import { Alert } from '@mantine/core';
import { useSession } from '../../api/session.ts';
import { PageHead } from '../../ui/page-head.tsx';
import { Password } from './password.tsx';
import { SecondFactor } from './second-factor.tsx';
import { Sessions } from './sessions.tsx';

export function Account() {
  const { account, must_set_up_two_factor: mustSetUp } = useSession();
  return (
    <>
      <PageHead title={account.name} answer={account.email} />
      <div className="stack">
        {mustSetUp && (
          <Alert color="yellow" title="Set up a second factor first" role="alert">
            Your organisation requires one. Everything else opens as soon as it is set up.
          </Alert>
        )}
        <SecondFactor isOn={account.two_factor} />
        {!mustSetUp && <Password />}
        {!mustSetUp && <Sessions />}
      </div>
    </>
  );
}
