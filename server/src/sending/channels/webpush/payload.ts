// The JSON of Declarative Web Push that a service worker reads. The same text works with and
// without a worker (contract 7.4; https://webkit.org/blog/16535/meet-declarative-web-push/). Pure.
import type { ChannelContent, WebAction } from '../../content/content.ts';
import type { Push } from '../channel.ts';

/**
 * The plaintext of a push. With `countsClicksByUrl` the links lead through the click URL. Apple's
 * browsers need this, because they open the link themselves and no worker sees the click.
 */
export function buildPayload(push: Push<unknown>, countsClicksByUrl: boolean): Buffer {
  const { content, messageId, receiptToken } = push;
  const clickUrl = countsClicksByUrl ? push.clickUrl : null;
  const { title, body, url, lang, dir, silent, icon, image, badge, app_badge, renotify, require_interaction } = content;
  // JSON.stringify omits members that are undefined.
  return Buffer.from(
    JSON.stringify({
      web_push: 8030,
      notification: {
        title,
        body,
        navigate: url && (clickUrl ?? url),
        lang,
        dir,
        silent,
        tag: replacementTag(content, messageId),
        renotify,
        requireInteraction: require_interaction,
        icon,
        image,
        badge: typeof badge === 'string' ? badge : undefined,
        app_badge,
        actions: content.actions?.map((action) => buildAction(action, url, clickUrl)),
        data: { ...content.data, url, carillon_message_id: messageId, carillon_token: receiptToken },
      },
    }),
  );
}

/** A button without a url of its own opens the notification's url. */
function buildAction({ action, title, url, icon }: WebAction, mainUrl: string | undefined, clickUrl: string | null) {
  const target = url ?? mainUrl;
  const counted = url === undefined ? clickUrl : clickUrl && `${clickUrl}?a=${encodeURIComponent(action)}`;
  return { action, title, navigate: target && (counted ?? target), icon };
}

/**
 * The tag is the same on every attempt, so that a repeated notification replaces the first instead
 * of appearing twice.
 */
function replacementTag({ tag, collapse_key }: ChannelContent, messageId: string): string {
  return tag ?? collapse_key ?? messageId;
}
