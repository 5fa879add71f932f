// A link that makes an account, taken by the provider of OpenID Connect instead of a password.
import { Button, Divider } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { call } from '../api/client.ts';
import { ProblemPanel } from './problem.tsx';

interface ByOidcProps {
  readonly provider: string;
  /** The part of the link after `#`. */
  readonly secret: string;
  /** True: a form with a password follows. */
  readonly hasPassword: boolean;
}

export function ByOidc({ provider, secret, hasPassword }: ByOidcProps) {
  const start = useMutation({
    mutationFn: () => call('beginOidcByLink', { body: { secret } }),
    onSuccess: ({ url }) => window.location.assign(url),
  });
  return (
    <>
      {start.error && <ProblemPanel error={start.error} />}
      <Button
        variant={hasPassword ? 'default' : 'filled'}
        loading={start.isPending || start.isSuccess}
        onClick={() => start.mutate()}
      >
        Go on with {provider}
      </Button>
      {hasPassword && <Divider label="or with a password" />}
    </>
  );
}
