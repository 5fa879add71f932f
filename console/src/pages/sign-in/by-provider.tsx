// The sign-in by a provider of OpenID Connect: its result in words, and the link to an account.

import { Alert } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { call, Problem } from '../../api/client.ts';

/**
 * Links the waiting identity to the account that has just signed in. If this fails, the sign-in
 * still counts.
 */
export async function linkProvider(provider: string): Promise<void> {
  try {
    await call('linkOidc', {});
    notifications.show({ message: `From now on ${provider} lets you in.` });
  } catch (error) {
    const reason = error instanceof Problem ? error.message : 'Try it again.';
    notifications.show({ color: 'red', message: `${provider} is not linked to your account. ${reason}` });
  }
}

/** The reason why the sign-in by the provider failed, from the word in the address. */
export function OidcWord({ word, provider }: { word: string | null; provider: string }) {
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
