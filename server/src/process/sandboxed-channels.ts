// The channels whose pushes the operator's settings lead to a sandbox, so that the console can tell
// a test from a send that rings people. Pure.
import type { ChannelId } from '../channels/channel.ts';
import type { Config } from '../config.ts';

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
