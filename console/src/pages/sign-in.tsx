// The sign-in page, beside the parts that run here. If no session can be kept, it gives the reason
// instead of a form.
import { Alert, Anchor, Button, Divider, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { IconShieldLock } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate, useSearchParams } from 'react-router';
import { addressOf, call, Problem } from '../api/client.ts';
import type { Entered, Welcome } from '../api/objects.ts';
import { queryClient, queryOf } from '../api/queries.ts';
import { FormFoot } from '../components/form-foot.tsx';
import { Loaded } from '../components/loaded.tsx';
import { useSave } from '../components/use-save.ts';
import { WhatRuns } from '../components/what-runs.tsx';
import { paths } from '../paths.ts';
import { CodeBlock } from '../ui/copy.tsx';

export function SignIn() {
  const welcome = useQuery(queryOf('getWelcome', {}));
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
    if (search.get('oidc') === 'confirm') await link(welcome.oidc ?? 'the provider');
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

/**
 * Links the waiting identity to the account that has just signed in. If this fails, the sign-in
 * still counts.
 */
async function link(provider: string): Promise<void> {
  try {
    await call('linkOidc', {});
    notifications.show({ message: `From now on ${provider} lets you in.` });
  } catch (error) {
    const reason = error instanceof Problem ? error.message : 'Try it again.';
    notifications.show({ color: 'red', message: `${provider} is not linked to your account. ${reason}` });
  }
}

/** The reason why the sign-in by the provider failed, from the word in the address. */
function OidcWord({ word, provider }: { word: string | null; provider: string }) {
  if (word === null) return null;
  if (word === 'confirm') {
    return (
      <Alert color="yellow" role="alert" title="One step is left">
        An account with your address exists already. Sign in with its password once. From then on {provider} lets you
        in.
      </Alert>
    );
  }
  return (
    <Alert color="red" role="alert" title={`The sign-in with ${provider} did not work`}>
      {oidcWords[word] ?? 'Try it again. The log of the service says more.'}
    </Alert>
  );
}

const oidcWords: Readonly<Record<string, string>> = {
  cancelled: 'The sign-in was canceled at the provider. Try again when you are ready.',
  failed: 'The answer of the provider belongs to another attempt, or came after more than ten minutes. Try again.',
  unavailable: 'The provider does not answer. Try again in a minute. The log of the service says why.',
  unverified: 'The provider has not verified your e-mail address. Verify it there, then try again.',
  not_invited: 'Your address is not invited here. Ask an admin of your organisation for an invitation.',
  https_required:
    'This address is plain http, over which no session is given, or the proxy is not named in TRUSTED_PROXIES. Open the console over https.',
};

/** Only a path of this console is followed, because an address in a link could lead anywhere. */
function inside(to: string | null): string {
  return to !== null && /^\/(?![/\\])/.test(to) ? to : paths.home;
}

function Password({ onDone }: { onDone: (answer: Entered) => unknown }) {
  const form = useForm({ initialValues: { email: '', password: '' } });
  const save = useSave({ form, save: (body) => call('signIn', { body }), onSaved: onDone });
  return (
    <form onSubmit={form.onSubmit(save.submit)}>
      <Stack>
        <TextInput
          label="E-mail"
          type="email"
          autoComplete="username"
          required
          data-autofocus
          {...form.getInputProps('email')}
        />
        <PasswordInput
          label="Password"
          autoComplete="current-password"
          required
          visibilityToggleButtonProps={{ 'aria-label': 'Show the password' }}
          {...form.getInputProps('password')}
        />
        <FormFoot label="Sign in" save={save} isWide />
        <p className="muted" style={{ margin: 0, fontSize: 13 }}>
          Lost your password? The operator of this service makes a reset link with{' '}
          <span className="mono">./carillon owner reset-password</span>.
        </p>
      </Stack>
    </form>
  );
}

interface SecondFactorProps {
  readonly onDone: (answer: Entered) => unknown;
  readonly onBack: () => void;
}

function SecondFactor({ onDone, onBack }: SecondFactorProps) {
  const [isRecovery, setRecovery] = useState(false);
  const form = useForm({ initialValues: { code: '' } });
  const save = useSave({
    form,
    save: ({ code }) =>
      call('signInSecondFactor', { body: { code: code.replaceAll(' ', ''), is_recovery: isRecovery } }),
    onSaved: onDone,
  });
  return (
    <form onSubmit={form.onSubmit(save.submit)}>
      <Stack>
        {isRecovery ? (
          <TextInput
            label="Recovery code"
            description="Each code works once"
            required
            data-autofocus
            autoComplete="off"
            {...form.getInputProps('code')}
          />
        ) : (
          <TextInput
            label="Code"
            description="The six digits that your authenticator app shows"
            inputMode="numeric"
            autoComplete="one-time-code"
            required
            data-autofocus
            {...form.getInputProps('code')}
          />
        )}
        <FormFoot label="Go on" save={save} onCancel={onBack} />
        <Anchor component="button" type="button" onClick={() => setRecovery(!isRecovery)}>
          {isRecovery ? 'Use the authenticator app' : 'Use a recovery code'}
        </Anchor>
      </Stack>
    </form>
  );
}

function NeedsHttps() {
  if (window.location.protocol === 'https:') return <ProxyUnknown />;
  return (
    <Stack>
      <h1 id="sign-in-heading" style={{ margin: 0, fontSize: 22 }}>
        This console needs https
      </h1>
      <Alert color="yellow" icon={<IconShieldLock aria-hidden />}>
        You opened <span className="mono">{window.location.host}</span> over plain http. Anybody between you and the
        service could read your password, so nobody can sign in here.
      </Alert>
      <p style={{ margin: 0 }}>
        Put a proxy with a certificate in front of Carillon. With Caddy these two lines are enough, and Caddy gets the
        certificate by itself. Then tell Carillon its address:
      </p>
      <CodeBlock
        label="A proxy with a certificate"
        code={`push.example.com\nreverse_proxy 127.0.0.1:${window.location.port || '8080'}`}
      />
      <CodeBlock
        label="The address for Carillon"
        code={'PUBLIC_URL=https://push.example.com\nTRUSTED_PROXIES=127.0.0.1'}
      />
      <p style={{ margin: 0 }}>
        To sign in right now, open a tunnel on your computer, and then http://127.0.0.1:8080/ in this browser:
      </p>
      <CodeBlock
        label="A tunnel"
        code={`ssh -L 8080:127.0.0.1:${window.location.port || '8080'} ${window.location.hostname}`}
      />
    </Stack>
  );
}

function NotSetUp() {
  return (
    <Stack>
      <h1 id="sign-in-heading" style={{ margin: 0, fontSize: 22 }}>
        Carillon is running
      </h1>
      <p style={{ margin: 0 }}>
        Nobody has set it up yet. The first start printed a link that makes you the owner. The link works once; this
        command prints another one, on the computer that runs Carillon:
      </p>
      <CodeBlock label="A set-up link" code="./carillon owner setup-link" />
    </Stack>
  );
}

function ProxyUnknown() {
  return (
    <Stack>
      <h1 id="sign-in-heading" style={{ margin: 0, fontSize: 22 }}>
        Carillon does not know its proxy
      </h1>
      <Alert color="yellow" icon={<IconShieldLock aria-hidden />}>
        The proxy before Carillon says that you came by https, and Carillon believes that of known proxies alone. So
        nobody can sign in here.
      </Alert>
      <p style={{ margin: 0 }}>Name the address of the proxy, and restart Carillon:</p>
      <CodeBlock label="The proxy for Carillon" code="TRUSTED_PROXIES=127.0.0.1" />
    </Stack>
  );
}
