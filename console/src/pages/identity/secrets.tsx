// The rotation of the identity secret, and its end.

import { SegmentedControl } from '@mantine/core';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import type { Identify } from '../../api/objects.ts';
import { refresh } from '../../api/queries.ts';
import { ConfirmButton } from '../../components/confirm.tsx';
import { showOnce } from '../../components/secret-once.tsx';

export type Form = Identify['forms'][number];
export type Wanted = { enabled: boolean; require_device: boolean };
const plural: Readonly<Record<Form, string>> = { token: 'tokens', hash: 'hashes' };

export function describeSecrets([former, next]: readonly Form[]): string {
  if (former === undefined) return '';
  if (next === undefined) return `One secret is accepted, for ${plural[former]}.`;
  return `Two secrets are accepted until the rotation is finished: the former one for ${plural[former]}, the new one for ${plural[next]}.`;
}

export const showSecret = (secret: string): Promise<void> =>
  showOnce({
    title: 'The identity secret',
    text: 'It stays on your server. With it anybody can claim to be any of your users. It is shown only once.',
    secrets: [['Secret', secret]],
  });

interface SecretsProps {
  readonly app: string;
  readonly identity: Identify;
  readonly onOff: (wanted: Wanted) => Promise<void>;
}

export function Secrets({ app, identity, onOff }: SecretsProps) {
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
            const body = { form: identity.require_device ? 'token' : form };
            const { secret } = await call('rotateIdentify', { app, body });
            if (secret !== null) void showSecret(secret);
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
