// Whether a device must prove its user, and the secret with which your server proves it.
import { Button, Switch } from '@mantine/core';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import type { Identify } from '../../api/objects.ts';
import { refresh, useAnswer } from '../../api/queries.ts';
import { useAppId, useMay } from '../../api/session.ts';
import { ActProblem } from '../../components/change-list.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { ProofCheck } from '../../components/proof-check.tsx';
import { Card } from '../../ui/card.tsx';
import { State } from '../../ui/state.tsx';
import { Samples } from './samples.tsx';
import { describeSecrets, Secrets, showSecret, type Wanted } from './secrets.tsx';

export function IdentityPage() {
  const app = useAppId();
  const identity = useAnswer('getIdentify', { app });
  return <Loaded query={identity}>{(data) => <Whole app={app} identity={data} />}</Loaded>;
}

/** A failed act, and the settings that it concerned. */
interface Failure {
  readonly error: unknown;
  readonly seen: Identify;
}

function Whole({ app, identity }: { app: string; identity: Identify }) {
  const { may, reason } = useMay('identity.edit');
  const [failure, setFailure] = useState<Failure>();
  const set = async (wanted: Wanted) => {
    setFailure(undefined);
    try {
      const { secret: shown } = await call('setIdentify', {
        app,
        body: { ...wanted, updated_at: identity.updated_at },
      });
      if (shown !== null) void showSecret(shown);
    } catch (error) {
      setFailure({ error, seen: identity });
    }
    await refresh('getIdentify', { app });
  };
  const hasTokens = identity.forms.includes('token');
  return (
    <>
      <Card title="Identity" actions={!may && <span className="muted">{reason}</span>}>
        <Headline identity={identity} />
        {failure && (
          <div style={{ marginBottom: 12 }}>
            <ActProblem error={failure.error} seen={failure.seen} fields={['enabled', 'require_device', 'forms']} />
          </div>
        )}
        {identity.enabled ? (
          <div className="stack">
            <Switch
              label="Require the device"
              description={
                hasTokens || identity.require_device
                  ? 'Only a token that names the device is accepted, so that it is worth nothing on another one. Every hash is refused'
                  : 'Needs a token secret: a hash cannot name a device'
              }
              checked={identity.require_device}
              disabled={!may || !(hasTokens || identity.require_device)}
              onChange={({ currentTarget }) => void set({ enabled: true, require_device: currentTarget.checked })}
            />
            {may && <Secrets app={app} identity={identity} onOff={set} />}
            <span className="muted">{describeSecrets(identity.forms)}</span>
          </div>
        ) : (
          may && (
            <Button onClick={() => void set({ enabled: true, require_device: false })}>
              Make a secret and ask for proof
            </Button>
          )
        )}
      </Card>
      <Samples newest={identity.forms.at(-1) ?? 'token'} />
      <ProofCheck appId={app} isDeviceRequired={identity.require_device} />
    </>
  );
}

const states = {
  closed: {
    look: { tone: 'bad', mark: 'failed', text: 'Closed' },
    meaning:
      'Every identify is refused: this app required the bound form of earlier versions, which could be forged. Make a token secret, and let your server sign tokens that name the device.',
  },
  proved: {
    look: { tone: 'good', mark: 'done', text: 'Proved' },
    meaning: 'A device belongs to a user only with a proof that your server made.',
  },
  open: {
    look: { tone: 'warn', mark: 'alert', text: 'Open' },
    meaning:
      'Anybody who has the client key can say that their device belongs to any of your users, and gets what is meant for them.',
  },
} as const;

function Headline({ identity: { require_device, forms, enabled } }: { identity: Identify }) {
  const isUnprovable = require_device && !forms.includes('token');
  const { look, meaning } = states[isUnprovable ? 'closed' : enabled ? 'proved' : 'open'];
  return (
    <p className="headline" style={{ marginBottom: 12 }}>
      <State {...look} /> {meaning}
    </p>
  );
}
