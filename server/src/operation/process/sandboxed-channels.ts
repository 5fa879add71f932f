// The channels whose pushes go to a sandbox by the operator's settings. So the console can tell a
// test from a send that reaches people. Pure.

import type { Config } from '../../config.ts';
import type { ChannelId } from '../../sending/channels/channel.ts';

const appleHost = 'api.push.apple.com';
const googleHost = 'fcm.googleapis.com';

export function sandboxedChannels({
  apnsUrl,
  fcmUrl,
  pushHosts,
}: Pick<Config, 'apnsUrl' | 'fcmUrl' | 'pushHosts'>): ChannelId[] {
  // Browsers of a sandbox have endpoints on this very machine.
  const hasLocalBrowsers = pushHosts.some((host) => host === 'localhost' || host.endsWith('.localhost'));
  return [
    ...(hasLocalBrowsers ? (['webpush'] as const) : []),
    ...(new URL(apnsUrl).hostname === appleHost ? [] : (['apns'] as const)),
    ...(new URL(fcmUrl).hostname === googleHost ? [] : (['fcm'] as const)),
  ];
}
