// A field that says what is wrong with a proof of identity. It runs in this browser: the secret goes
// nowhere.
import { Button, TextInput } from '@mantine/core';
import { type ChangeEvent, useState } from 'react';
import { Card } from '../ui/card.tsx';
import { State } from '../ui/state.tsx';
import { findProofFault, type ProofFault } from './identify-proof.ts';

export function ProofCheck({ appId, isDeviceRequired }: { appId: string; isDeviceRequired: boolean }) {
  const [claim, setClaim] = useState({ secret: '', externalId: '', deviceId: '', proof: '' });
  const [fault, setFault] = useState<ProofFault>();
  const field = (name: keyof typeof claim) => ({
    value: claim[name],
    onChange: ({ currentTarget }: ChangeEvent<HTMLInputElement>) => {
      setFault(undefined);
      setClaim({ ...claim, [name]: currentTarget.value });
    },
  });
  const check = async () => {
    const pasted = { secret: claim.secret.trim(), deviceId: claim.deviceId.trim(), proof: claim.proof.trim() };
    setFault(await findProofFault({ ...claim, ...pasted, appId, isDeviceRequired }, Date.now()));
  };
  return (
    <Card title="Check a proof">
      <p className="muted" style={{ margin: '0 0 12px' }}>
        The API never says why it refuses a proof. This does. The check runs in this browser; the secret is sent
        nowhere.
      </p>
      <div style={{ display: 'grid', gap: 12, maxWidth: 560 }}>
        <TextInput label="Secret" type="password" autoComplete="off" {...field('secret')} />
        <TextInput label="External id" {...field('externalId')} />
        <TextInput label="Device id" description="For a token that names its device" {...field('deviceId')} />
        <TextInput label="Token or hash that your server made" {...field('proof')} />
        <Button
          variant="default"
          onClick={() => void check()}
          disabled={claim.secret === '' || claim.externalId === '' || claim.proof === ''}
          style={{ justifySelf: 'start' }}
        >
          Check
        </Button>
        {fault !== undefined && (
          <p role="status" style={{ margin: 0, overflowWrap: 'anywhere' }}>
            {fault === null ? (
              <State tone="good" mark="done" text="The proof is right" />
            ) : (
              <>
                <State tone="bad" mark="failed" text="The proof is refused" /> {fault}
              </>
            )}
          </p>
        )}
      </div>
    </Card>
  );
}
