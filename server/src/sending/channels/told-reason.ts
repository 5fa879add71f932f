// Reads a push service's reason again from an answer that the timeline kept. Pure.
import { reasonOf as reasonOfApple } from './apns/answer.ts';
import type { ChannelId, ProviderAnswer } from './channel.ts';
import { reasonOf as reasonOfGoogle } from './fcm/answer.ts';
import { reasonOf as reasonOfPushService } from './webpush/answer.ts';

const readers: Readonly<Record<ChannelId, (provider: ProviderAnswer) => string | null>> = {
  webpush: reasonOfPushService,
  apns: reasonOfApple,
  fcm: reasonOfGoogle,
};

/** The provider's reason word, as the outcome had it: at most 200 characters, null without one. */
export function toldReason(provider: ProviderAnswer): string | null {
  return readers[provider.name](provider);
}
