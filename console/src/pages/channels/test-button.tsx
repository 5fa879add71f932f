// Sends a test of a channel to one device.

import { TextInput } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'react-router';
import { call } from '../../api/client.ts';
import type { ChannelName, ChannelTestResult } from '../../api/objects.ts';
import { refresh } from '../../api/queries.ts';
import { ConfirmButton } from '../../components/confirm.tsx';
import { Status } from '../../components/status.tsx';
import { channelNames } from '../../format.ts';
import { paths } from '../../paths.ts';

export function TestButton({ app, id }: { app: string; id: ChannelName }) {
  const [device, setDevice] = useState('');
  const [result, setResult] = useState<ChannelTestResult>();
  const test = async () => {
    setResult(await call('testChannel', { app, channel: id, body: { device_id: device.trim() } }));
    await refresh(['listChannels', 'listSparedDevices'], { app });
  };
  return (
    <>
      {result !== undefined && (
        <span style={{ alignSelf: 'center' }} role="status">
          <Status status={result.status ?? 'waiting'} />{' '}
          <Link to={paths.delivery(app, result.message_id, result.device_id)}>See the test</Link>
        </span>
      )}
      <ConfirmButton
        label="Test"
        title={`Test ${channelNames[id].toLowerCase()}`}
        act="Send the test"
        effect={
          <TextInput
            label="Device id"
            description="It rings with a short text. The test goes the way of every message and counts as one delivery."
            placeholder="dev_…"
            value={device}
            onChange={({ currentTarget }) => setDevice(currentTarget.value)}
            data-autofocus
          />
        }
        run={test}
      />
    </>
  );
}
