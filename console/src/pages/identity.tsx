// Whether a device must prove whose it is, and the secret by which your server vouches.
import { Button, Switch, Tabs, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ChangeEvent, useState } from 'react';
import guide from '../../../docs/identify.md?raw';
import type { Identify } from '../api/objects.ts';
import { finishIdentityRotation, rotateIdentity, setIdentity } from '../api/operations.ts';
import { queries, queryClient } from '../api/queries.ts';
import { useAppId, useMay } from '../api/session.ts';
import { ActProblem } from '../components/change-list.tsx';
import { ConfirmButton } from '../components/confirm.tsx';
import { checkHash, type HashFault } from '../components/identify-hash.ts';
import { Loaded } from '../components/loaded.tsx';
import { SecretOnce } from '../components/secret-once.tsx';
import { Card } from '../ui/card.tsx';
import { CodeBlock } from '../ui/copy.tsx';
import { State } from '../ui/state.tsx';

export function IdentityPage() {
  const app = useAppId();
  const identity = useQuery(queries.identity(app));
  return <Loaded query={identity}>{(data) => <Whole app={app} identity={data} />}</Loaded>;
}

/** An act that did not work, and the settings that it was about. */
interface Failure {
  readonly error: unknown;
  readonly seen: Identify;
}

function Whole({ app, identity }: { app: string; identity: Identify }) {
  const { may, reason } = useMay('identity.edit');
  const [secret, setSecret] = useState<string | null>(null);
  const [failure, setFailure] = useState<Failure>();
  const refresh = () => queryClient.invalidateQueries({ queryKey: ['app', app, 'identity'] });
  const set = async (wanted: { enabled: boolean; require_bound: boolean }) => {
    setFailure(undefined);
    try {
      const { secret: shown } = await setIdentity(app, { ...wanted, updated_at: identity.updated_at });
      if (shown !== null) setSecret(shown);
    } catch (error) {
      setFailure({ error, seen: identity });
    }
    await refresh();
  };
  return (
    <>
      <Card title="Identity" actions={!may && <span className="muted">{reason}</span>}>
        <p className="headline" style={{ marginBottom: 12 }}>
          {identity.enabled ? (
            <>
              <State tone="good" mark="done">
                Proved
              </State>{' '}
              A device belongs to a user only with a hash that your server made.
            </>
          ) : (
            <>
              <State tone="warn" mark="alert">
                Open
              </State>{' '}
              Anybody who has the client key can say that their device belongs to any of your users, and gets what is
              meant for them.
            </>
          )}
        </p>
        {failure && (
          <div style={{ marginBottom: 12 }}>
            <ActProblem error={failure.error} seen={failure.seen} fields={['enabled', 'require_bound', 'secrets']} />
          </div>
        )}
        {identity.enabled ? (
          <div className="stack">
            <Switch
              label="Require the bound form"
              description="The hash also names the device and a time, so that a hash of one device is worth nothing on another"
              checked={identity.require_bound}
              disabled={!may}
              onChange={({ currentTarget }) => void set({ enabled: true, require_bound: currentTarget.checked })}
            />
            {may && <Secrets app={app} identity={identity} onSecret={setSecret} onOff={set} />}
            <span className="muted">
              {identity.secrets > 1
                ? 'Two secrets are accepted until the rotation is finished.'
                : 'One secret is accepted.'}
            </span>
          </div>
        ) : (
          may && (
            <Button onClick={() => void set({ enabled: true, require_bound: false })}>
              Make a secret and ask for proof
            </Button>
          )
        )}
      </Card>
      <Card title="Make the hash on your server">
        <Tabs defaultValue="Node.js" keepMounted={false}>
          <Tabs.List mb="sm">
            {samples.map(([name]) => (
              <Tabs.Tab key={name} value={name}>
                {name}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {samples.map(([name, code]) => (
            <Tabs.Panel key={name} value={name}>
              <CodeBlock label={`The hash with ${name}`} code={code} />
            </Tabs.Panel>
          ))}
        </Tabs>
      </Card>
      <HashCheck />
      <SecretOnce
        title="The identity secret"
        text="It stays on your server. With it anybody can claim to be any of your users. It is shown only once."
        secrets={secret === null ? null : [['Secret', secret]]}
        onClose={() => setSecret(null)}
      />
    </>
  );
}

interface SecretsProps {
  readonly app: string;
  readonly identity: Identify;
  readonly onSecret: (secret: string | null) => void;
  readonly onOff: (wanted: { enabled: boolean; require_bound: boolean }) => Promise<void>;
}

function Secrets({ app, identity, onSecret, onOff }: SecretsProps) {
  const refresh = () => queryClient.invalidateQueries({ queryKey: ['app', app, 'identity'] });
  return (
    <div className="row-actions">
      {identity.secrets > 1 ? (
        <ConfirmButton
          label="Finish the rotation"
          title="Finish the rotation?"
          effect="Hashes made with the old secret are refused from now on."
          run={async () => {
            await finishIdentityRotation(app);
            await refresh();
          }}
        />
      ) : (
        <ConfirmButton
          label="Rotate the secret"
          title="Make a new secret?"
          effect="Both secrets are accepted until you finish the rotation."
          run={async () => {
            onSecret((await rotateIdentity(app)).secret);
            await refresh();
          }}
        />
      )}
      <ConfirmButton
        label="Turn the proof off"
        title="Turn the proof off?"
        effect="Devices are identified without any proof, and the secret is erased."
        isDestructive
        run={() => onOff({ enabled: false, require_bound: false })}
      />
    </div>
  );
}

const languages = [
  ['js', 'Node.js'],
  ['python', 'Python'],
  ['php', 'PHP'],
  ['ruby', 'Ruby'],
] as const;

/** The code of the documents, which is tested there: both forms in each language. */
const samples = languages.map(([language, name]) => {
  const blocks = guide.split(`\n\`\`\`${language}\n`).slice(1);
  const code = blocks
    .map((rest) => rest.slice(0, rest.indexOf('\n```')))
    .find((block) => /bound_?user_?hash/i.test(block));
  return [name, code ?? ''] as const;
});

const faults: Readonly<Record<HashFault, string>> = {
  differs: 'Common causes: another secret, or an id that was trimmed or lower-cased.',
  malformed: 'It is neither 64 lower-case hexadecimal digits nor the bound form.',
  stale: 'It is right, but its time is more than a day away from now.',
  no_device: 'The bound form names a device: give its id, too.',
};

/** Checks a hash in this browser. The secret goes nowhere. */
function HashCheck() {
  const [claim, setClaim] = useState({ secret: '', externalId: '', deviceId: '', hash: '' });
  const [result, setResult] = useState<Awaited<ReturnType<typeof checkHash>>>();
  const field = (name: keyof typeof claim) => ({
    value: claim[name],
    onChange: ({ currentTarget }: ChangeEvent<HTMLInputElement>) => {
      setResult(undefined);
      setClaim({ ...claim, [name]: currentTarget.value });
    },
  });
  const check = async () => setResult(await checkHash({ ...claim, hash: claim.hash.trim() }, Date.now()));
  return (
    <Card title="Check a hash">
      <p className="muted" style={{ margin: '0 0 12px' }}>
        The check runs in this browser; the secret is sent nowhere.
      </p>
      <div style={{ display: 'grid', gap: 12, maxWidth: 560 }}>
        <TextInput label="Secret" type="password" autoComplete="off" {...field('secret')} />
        <TextInput label="External id" {...field('externalId')} />
        <TextInput label="Device id" description="Only for a hash that is bound to one device" {...field('deviceId')} />
        <TextInput label="Hash that your server made" {...field('hash')} />
        <Button
          variant="default"
          onClick={() => void check()}
          disabled={claim.secret === '' || claim.externalId === ''}
          style={{ justifySelf: 'start' }}
        >
          Check
        </Button>
        {result !== undefined && (
          <p role="status" style={{ margin: 0 }}>
            {result === null ? (
              <State tone="good" mark="done">
                The hash is right
              </State>
            ) : (
              <>
                <State tone="bad" mark="failed">
                  The hash is refused
                </State>{' '}
                {faults[result.fault]}{' '}
                {result.expected !== undefined && (
                  <>
                    Expected <span className="mono">{result.expected}</span>.
                  </>
                )}
              </>
            )}
          </p>
        )}
      </div>
    </Card>
  );
}
