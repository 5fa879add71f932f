// The reasons why nobody can sign in yet, each with what to do.

import { Alert, Stack } from '@mantine/core';
import { IconShieldLock } from '@tabler/icons-react';
import { CodeBlock } from '../../ui/copy.tsx';

export function NeedsHttps() {
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

export function NotSetUp() {
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
