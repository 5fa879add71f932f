// One dot in the header: all channels and webhooks of the app are healthy, or the first one that is
// not.
import { Popover, Stack, UnstyledButton } from '@mantine/core';
import { Link } from 'react-router';
import type { Credential, Webhook } from '../api/objects.ts';
import { useAnswer, whole } from '../api/queries.ts';
import { channelNames } from '../format.ts';
import { paths } from '../paths.ts';
import { useIsPaused } from './paused-bar.tsx';

export interface Concern {
  readonly text: string;
  readonly to: string;
  readonly tone: 'bad' | 'warn';
}

/** The channels and webhooks that need attention, the worst first. */
export function concernsOf(app: string, channels: readonly Credential[], webhooks: readonly Webhook[]): Concern[] {
  const ofChannels = channels.flatMap(({ channel, current, health }): Concern[] => {
    if (!current || health === 'ok') return [];
    const name = channelNames[channel];
    const text =
      health === 'failing'
        ? `${name} is failing: the push service rejects its credential.`
        : `${name} is suspect: most pushes fail as if the credential were the wrong one.`;
    return [{ text, to: paths.channels(app), tone: health === 'failing' ? 'bad' : 'warn' }];
  });
  const isRemoved = channels.length > 0 && !channels.some(({ current }) => current);
  const ofNone: Concern[] = isRemoved
    ? [{ text: 'No channel is left, so every delivery is skipped.', to: paths.channels(app), tone: 'bad' }]
    : [];
  const ofWebhooks = webhooks.flatMap(({ id, endpoint, state, consecutive_failures: failures }): Concern[] => {
    const to = paths.webhook(app, id);
    if (state === 'disabled') return [{ text: `The webhook to ${endpoint} is disabled.`, to, tone: 'bad' }];
    if (failures > 0)
      return [{ text: `The webhook to ${endpoint} failed ${failures} times in a row.`, to, tone: 'warn' }];
    return [];
  });
  return [...ofNone, ...ofChannels, ...ofWebhooks].toSorted(
    (one, other) => Number(one.tone === 'warn') - Number(other.tone === 'warn'),
  );
}

interface Concerns {
  readonly concerns: readonly Concern[];
  /** False while channels or webhooks are not read yet, so that their health is unknown. */
  readonly isKnown: boolean;
  /** The app never had a channel. */
  readonly isNew: boolean;
}

export function useConcerns(appId: string): Concerns {
  const channels = useAnswer('listChannels', { app: appId, ...whole }).data?.data;
  const webhooks = useAnswer('listWebhooks', { app: appId, ...whole }).data?.data;
  const concerns = concernsOf(appId, channels ?? [], webhooks ?? []);
  return { concerns, isKnown: channels !== undefined && webhooks !== undefined, isNew: channels?.length === 0 };
}

/** A pause is shown only if nothing else is wrong, because the bar on every page says more. */
const pause = { tone: 'warn' } as const;

export function Health({ appId }: { appId: string }) {
  const { concerns, isKnown, isNew } = useConcerns(appId);
  const isPaused = useIsPaused();
  if (!isKnown) return null;
  const worst = concerns[0] ?? (isPaused && !isNew ? pause : undefined);
  const calm = worst ? 'Paused' : isNew ? 'No channel yet' : 'Healthy';
  const text = concerns.length > 0 ? `${concerns.length} to look at` : calm;
  return (
    <Popover position="bottom-end" width={320} shadow="md">
      <Popover.Target>
        <UnstyledButton className="health" aria-label={`State of channels and webhooks: ${text}`}>
          <span className={`dot tone-${worst?.tone ?? (isNew ? 'idle' : 'good')}`} />
          {/* On a phone, the dot alone would show a fault only by its colour. */}
          <span className={worst || isNew ? undefined : 'only-wide'}>{text}</span>
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown>
        {concerns.length > 0 ? (
          <Stack gap="xs">
            {concerns.map((concern) => (
              <Link key={concern.to + concern.text} to={concern.to} style={{ color: 'inherit' }}>
                {concern.text}
              </Link>
            ))}
          </Stack>
        ) : isNew ? (
          <>
            Nothing can be sent yet. <Link to={paths.channels(appId)}>Set up a channel</Link>
          </>
        ) : isPaused ? (
          'All channels and webhooks of this app are healthy, and wait until sending is resumed.'
        ) : (
          'All channels and webhooks of this app are healthy.'
        )}
      </Popover.Dropdown>
    </Popover>
  );
}
