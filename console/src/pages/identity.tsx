// Whether a device must prove its user, and the secret with which your server proves it.
import { Button, SegmentedControl, Switch, Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import guide from '../../../docs/identify.md?raw';
import { call } from '../api/client.ts';
import type { Identify } from '../api/objects.ts';
import { queryOf, refresh } from '../api/queries.ts';
import { useAppId, useMay } from '../api/session.ts';
import { ActProblem } from '../components/change-list.tsx';
import { ConfirmButton } from '../components/confirm.tsx';
import { Loaded } from '../components/loaded.tsx';
import { ProofCheck } from '../components/proof-check.tsx';
import { SecretOnce } from '../components/secret-once.tsx';
import { Card } from '../ui/card.tsx';
import { CodeBlock } from '../ui/copy.tsx';
import { State } from '../ui/state.tsx';

export function IdentityPage() {
  const app = useAppId();
  const identity = useQuery(queryOf('getIdentify', { app }));
  return <Loaded query={identity}>{(data) => <Whole app={app} identity={data} />}</Loaded>;
}

type Form = Identify['forms'][number];
type Wanted = { enabled: boolean; require_device: boolean };

/** A failed act, and the settings that it concerned. */
interface Failure {
  readonly error: unknown;
  readonly seen: Identify;
}

function Whole({ app, identity }: { app: string; identity: Identify }) {
  const { may, reason } = useMay('identity.edit');
  const [secret, setSecret] = useState<string | null>(null);
  const [failure, setFailure] = useState<Failure>();
  const set = async (wanted: Wanted) => {
    setFailure(undefined);
    try {
      const { secret: shown } = await call('setIdentify', {
        app,
        body: { ...wanted, updated_at: identity.updated_at },
      });
      if (shown !== null) setSecret(shown);
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
            {may && <Secrets app={app} identity={identity} onSecret={setSecret} onOff={set} />}
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
      <SecretOnce
        title="The identity secret"
        text="It stays on your server. With it anybody can claim to be any of your users. It is shown only once."
        secrets={secret === null ? null : [['Secret', secret]]}
        onClose={() => setSecret(null)}
      />
    </>
  );
}

function Headline({ identity }: { identity: Identify }) {
  const isUnprovable = identity.require_device && !identity.forms.includes('token');
  return (
    <p className="headline" style={{ marginBottom: 12 }}>
      {isUnprovable ? (
        <>
          <State tone="bad" mark="failed">
            Closed
          </State>{' '}
          Every identify is refused: this app required the bound form of earlier versions, which could be forged. Make a
          token secret, and let your server sign tokens that name the device.
        </>
      ) : identity.enabled ? (
        <>
          <State tone="good" mark="done">
            Proved
          </State>{' '}
          A device belongs to a user only with a proof that your server made.
        </>
      ) : (
        <>
          <State tone="warn" mark="alert">
            Open
          </State>{' '}
          Anybody who has the client key can say that their device belongs to any of your users, and gets what is meant
          for them.
        </>
      )}
    </p>
  );
}

const plural: Readonly<Record<Form, string>> = { token: 'tokens', hash: 'hashes' };

function describeSecrets([former, next]: readonly Form[]): string {
  if (former === undefined) return '';
  if (next === undefined) return `One secret is accepted, for ${plural[former]}.`;
  return `Two secrets are accepted until the rotation is finished: the former one for ${plural[former]}, the new one for ${plural[next]}.`;
}

interface SecretsProps {
  readonly app: string;
  readonly identity: Identify;
  readonly onSecret: (secret: string | null) => void;
  readonly onOff: (wanted: Wanted) => Promise<void>;
}

function Secrets({ app, identity, onSecret, onOff }: SecretsProps) {
  const [form, setForm] = useState<Form>('token');
  const isRotating = identity.secrets > 1;
  return (
    <div className="row-actions">
      {isRotating ? (
        <ConfirmButton
          label="Finish the rotation"
          title="Finish the rotation?"
          effect={`${identity.forms[0] === 'hash' ? 'Hashes' : 'Tokens'} made with the old secret are refused from now on.`}
          run={async () => {
            await call('finishIdentify', { app });
            await refresh('getIdentify', { app });
          }}
        />
      ) : (
        <ConfirmButton
          label="Rotate the secret"
          title="Make a new secret?"
          effect={
            <div className="stack">
              <span>Both secrets are accepted until you finish the rotation.</span>
              {!identity.require_device && (
                <SegmentedControl
                  aria-label="What your server makes with it"
                  value={form}
                  onChange={(value) => setForm(value === 'hash' ? 'hash' : 'token')}
                  data={[
                    { value: 'token', label: 'For tokens, which expire' },
                    { value: 'hash', label: 'For hashes, which do not' },
                  ]}
                />
              )}
            </div>
          }
          act="Make the secret"
          run={async () => {
            onSecret(
              (await call('rotateIdentify', { app, body: { form: identity.require_device ? 'token' : form } })).secret,
            );
            await refresh('getIdentify', { app });
          }}
        />
      )}
      <ConfirmButton
        label="Turn the proof off"
        title="Turn the proof off?"
        effect="Devices are identified without any proof, and every secret is erased."
        isDestructive
        run={() => onOff({ enabled: false, require_device: false })}
      />
    </div>
  );
}

const languages = [
  ['js', 'Node.js'],
  ['python', 'Python'],
  ['php', 'PHP'],
  ['ruby', 'Ruby'],
  ['go', 'Go'],
] as const;

/** The code of the documents, which is tested there. */
function samplesOf(form: Form): (readonly [language: string, code: string])[] {
  return languages.map(([language, name]) => {
    const blocks = guide.split(`\n\`\`\`${language}\n`).slice(1);
    const code = blocks
      .map((rest) => rest.slice(0, rest.indexOf('\n```')))
      .find((block) =>
        (form === 'token' ? /(def|func|function) user_?token\(/i : /(def|func|function) user_?hash\(/i).test(block),
      );
    return [name, code ?? ''] as const;
  });
}

function Samples({ newest }: { newest: Form }) {
  return (
    <Card title={`Make the ${newest} on your server`}>
      <Tabs defaultValue="Node.js" keepMounted={false}>
        <Tabs.List mb="sm">
          {languages.map(([, name]) => (
            <Tabs.Tab key={name} value={name}>
              {name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {samplesOf(newest).map(([name, code]) => (
          <Tabs.Panel key={name} value={name}>
            <CodeBlock label={`The ${newest} with ${name}`} code={code} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </Card>
  );
}
