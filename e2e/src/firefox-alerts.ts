// Firefox's own notification windows, clicked as a user clicks them. Without a desktop and a daemon
// Firefox shows each notification in a small window of its own.

import type { BidiChannel } from './bidi-channel.ts';
import { untilDefined } from './deadline.ts';
import type { NotificationArea, ShownNotification } from './notification-area.ts';

const alertUrl = 'chrome://global/content/alerts/alert.xhtml';

export class FirefoxAlerts implements NotificationArea {
  readonly #channel: BidiChannel;

  constructor(channel: BidiChannel) {
    this.#channel = channel;
  }

  async waitFor(title: string): Promise<ShownNotification> {
    const { body } = await this.#find(title);
    return { title, body };
  }

  async click(title: string): Promise<void> {
    await this.#press(title, 'alertBox');
  }

  async dismiss(title: string): Promise<void> {
    await this.#press(title, 'alert-close');
  }

  async clickAction(title: string, label: string): Promise<void> {
    throw new Error(`Firefox's own window of "${title}" has no button "${label}", nor any other.`);
  }

  async #press(title: string, elementId: string): Promise<void> {
    const { context } = await this.#find(title);
    // A window can be in the tree before its script has run, and then a click would be lost. The
    // script writes the title, so the window is ready when the title is there.
    await this.#call(context, `(id) => { document.getElementById(id).click(); }`, elementId);
  }

  async #find(title: string): Promise<{ context: string; body: string }> {
    return await untilDefined(`Firefox's window of the notification "${title}"`, async () => {
      const tree = await this.#channel.command('browsingContext.getTree', { 'moz:scope': 'chrome', maxDepth: 0 });
      for (const { context, url } of tree['contexts'] as { context: string; url: string }[]) {
        if (url !== alertUrl) continue;
        // A window can be in the tree before its document is loaded, and then it has no labels yet.
        const shown = await this.#call(
          context,
          `() => JSON.stringify(['alertTitleLabel', 'alertTextLabel'].map((id) => {
            const label = document.getElementById(id);
            return label?.value || label?.textContent || '';
          }))`,
        );
        const [shownTitle, body] = JSON.parse(shown) as string[];
        if (shownTitle === title) return { context, body: body ?? '' };
      }
      return undefined;
    });
  }

  async #call(context: string, functionDeclaration: string, argument = ''): Promise<string> {
    const result = await this.#channel.command('script.callFunction', {
      target: { context },
      awaitPromise: false,
      functionDeclaration,
      arguments: [{ type: 'string', value: argument }],
    });
    if (result['type'] !== 'success') throw new Error(`Firefox refused: ${JSON.stringify(result['exceptionDetails'])}`);
    return String((result['result'] as { value?: unknown }).value);
  }
}
