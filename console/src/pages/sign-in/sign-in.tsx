// The sign-in page, beside the parts that run here. If no session can be kept, it gives the reason
// instead of a form.
import { Button, Divider, Stack } from '@mantine/core';
import { useState } from 'react';
import { useNavigate, useSearchParams } from 'react-router';
import { addressOf } from '../../api/client.ts';
import type { Entered, Welcome } from '../../api/objects.ts';
import { queryClient, useAnswer } from '../../api/queries.ts';
import { Loaded } from '../../components/loaded.tsx';
import { WhatRuns } from '../../components/what-runs.tsx';
import { paths } from '../../paths.ts';
import { linkProvider, OidcWord } from './by-provider.tsx';
import { NeedsHttps, NotSetUp } from './obstacles.tsx';
import { Password } from './password.tsx';
import { SecondFactor } from './second-factor.tsx';

export function SignIn() {
  const welcome = useAnswer('getWelcome', {});
  return (
    <div className="sign-in">
      <section aria-labelledby="sign-in-heading">
        <Loaded query={welcome}>{(data) => <Way welcome={data} />}</Loaded>
      </section>
      <WhatRuns hasDemo={welcome.data?.demo ?? false} />
    </div>
  );
}

function Way({ welcome }: { welcome: Welcome }) {
  const navigate = useNavigate();
  const [search] = useSearchParams();
  const [isSecondStep, setSecondStep] = useState(false);
  const goOn = async ({ next }: Entered) => {
    if (next === 'second_factor') return setSecondStep(true);
    if (search.get('oidc') === 'confirm') await linkProvider(welcome.oidc ?? 'the provider');
    // The cache is cleared, because another person may have been signed in before.
    queryClient.clear();
    await navigate(inside(search.get('to')), { replace: true });
  };
  if (!welcome.can_sign_in) return <NeedsHttps />;
  if (welcome.needs_setup) return <NotSetUp />;
  return (
    <Stack>
      <h1 id="sign-in-heading" style={{ margin: 0, fontSize: 22 }}>
        {isSecondStep ? 'Second factor' : 'Sign in'}
      </h1>
      <OidcWord word={search.get('oidc')} provider={welcome.oidc ?? 'the provider'} />
      {isSecondStep ? (
        <SecondFactor onDone={goOn} onBack={() => setSecondStep(false)} />
      ) : (
        <>
          {welcome.oidc && (
            <Button component="a" href={addressOf('beginOidc', {})} variant={welcome.password ? 'default' : 'filled'}>
              Sign in with {welcome.oidc}
            </Button>
          )}
          {welcome.oidc && welcome.password && <Divider label="or" />}
          {welcome.password && <Password onDone={goOn} />}
        </>
      )}
    </Stack>
  );
}

/** Only a path of this console is followed, because an address in a link could lead anywhere. */
function inside(to: string | null): string {
  return to !== null && /^\/(?![/\\])/.test(to) ? to : paths.home;
}
