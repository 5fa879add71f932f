// The buttons of a key, in the list of keys and on the key's own page.
import { Group, NumberInput, Stack } from '@mantine/core';
import { useState } from 'react';
import { keyCan } from '../api/can.ts';
import { call } from '../api/client.ts';
import type { Key, MadeKey } from '../api/objects.ts';
import { ConfirmButton } from './confirm.tsx';
import { showOnce } from './secret-once.tsx';

export function keyStateOf({ revoked_at, expires_at }: Key, nowMs: number): string {
  if (revoked_at !== null) return 'revoked';
  if (expires_at === null) return 'active';
  return Date.parse(expires_at) <= nowMs ? 'expired' : 'expiring';
}

/** Resolves when the person has kept the key. */
export const showKey = ({ name, key }: MadeKey): Promise<void> =>
  showOnce({
    title: `Key ${name}`,
    text: 'This is the only time that the key is shown. Carillon keeps no copy that it could show again.',
    secrets: [['Key', key]],
  });

interface KeyActsProps {
  readonly value: Key;
  readonly state: string;
  /** Called when the person has kept the new key. */
  readonly onRotated?: (made: MadeKey) => unknown;
  readonly onChanged: () => Promise<unknown>;
}

export function KeyActs({ value: key, state, onRotated, onChanged }: KeyActsProps) {
  const [hours, setHours] = useState<number>(24);
  return (
    <Group gap="xs">
      {keyCan(state, 'rotate') && (
        <ConfirmButton
          label="Rotate"
          title={`Rotate the key ${key.name}?`}
          act="Make the new key"
          effect={
            <Stack gap="sm">
              <span>
                A new key of the same name is made. The old one keeps working for the hours below, so that you can
                replace it everywhere.
              </span>
              <NumberInput
                label="Hours that both work"
                min={0}
                max={72}
                value={hours}
                onChange={(value) => setHours(Number(value))}
                clampBehavior="strict"
              />
            </Stack>
          }
          run={async () => {
            const made = await call('rotateKey', { key: key.id, body: { overlap_hours: hours } });
            await onChanged();
            void showKey(made).then(() => onRotated?.(made));
          }}
        />
      )}
      {keyCan(state, 'revoke') && (
        <ConfirmButton
          label="Revoke"
          title={`Revoke the key ${key.name}?`}
          effect="Every request with it is refused within two seconds. Rotate it instead to replace it without a gap."
          isDestructive
          run={async () => {
            await call('revokeKey', { key: key.id });
            await onChanged();
          }}
        />
      )}
    </Group>
  );
}
