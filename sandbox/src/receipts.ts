// Sends receipts to the push's sender, as a service worker does when it shows a notification or
// when the person clicks or dismisses it. It calls only the address that the sandbox's owner named.

import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { ShownNotification } from './notification.ts';
import { parseUrl } from './parse-url.ts';
import type { PushRecord } from './push-log.ts';

export type ReceiptEvent = 'displayed' | 'clicked' | 'dismissed';

/** One receipt and its answer. `status` null: there was no answer. */
export interface Receipt {
  readonly event: ReceiptEvent;
  readonly action: string | null;
  readonly at: number;
  readonly status: number | null;
  readonly detail: string;
}

const inFlightMax = 8;
const timeoutMs = 5000;
const answerKeptCharacters = 300;

/** Posts receipts, a few at a time. */
export class ReceiptSender {
  readonly #base: URL;
  readonly #httpAgent = new HttpAgent({ keepAlive: true, maxSockets: inFlightMax });
  readonly #httpsAgent = new HttpsAgent({ keepAlive: true, maxSockets: inFlightMax });

  readonly #waiting: (() => void)[] = [];
  #inFlight = 0;

  /** `base` is the service's own address, to which `/v1/receipts` is added. */
  constructor(base: string) {
    this.#base = new URL(base);
  }

  get base(): string {
    return this.#base.href;
  }

  /**
   * Sends what the browser would send for this event; null when it would send nothing. Safari shows
   * and opens a declarative notification without the service worker: it reports no display, and a
   * click is a request to the link itself.
   */
  async send(record: PushRecord, event: ReceiptEvent, action: string | null): Promise<Receipt | null> {
    const { notification } = record;
    const token = notification?.receiptToken ?? null;
    if (notification === null || token === null) return null;
    const isDeclaredToSafari = record.vendor === 'apple' && notification.isDeclarative;
    if (!isDeclaredToSafari) return this.#post({ token, event, ...(action === null ? {} : { action }) });
    if (event !== 'clicked') return null;
    const link = linkOf(notification, action);
    if (link === null || !this.#isOurs(link)) return null;
    return this.#inTurn(() => this.#exchange('GET', link, null, event, action));
  }

  close(): void {
    this.#httpAgent.destroy();
    this.#httpsAgent.destroy();
  }

  #post(body: { token: string; event: ReceiptEvent; action?: string }): Promise<Receipt> {
    const url = new URL('v1/receipts', this.#base.href.endsWith('/') ? this.#base : `${this.#base.href}/`);
    return this.#inTurn(() => this.#exchange('POST', url, JSON.stringify(body), body.event, body.action ?? null));
  }

  #isOurs(link: URL): boolean {
    return link.origin === this.#base.origin && link.pathname.includes('/v1/r/');
  }

  /**
   * Limits concurrent receipts: a large send shows all of its notifications at once, and the
   * service must not notice that.
   */
  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inFlight >= inFlightMax) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#inFlight += 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#inFlight -= 1;
      else next();
    }
  }

  #exchange(
    method: string,
    url: URL,
    body: string | null,
    event: ReceiptEvent,
    action: string | null,
  ): Promise<Receipt> {
    const at = Date.now();
    const isTls = url.protocol === 'https:';
    return new Promise((resolve) => {
      const settle = (status: number | null, detail: string): void => resolve({ event, action, at, status, detail });
      const outgoing = (isTls ? httpsRequest : httpRequest)(
        url,
        {
          method,
          agent: isTls ? this.#httpsAgent : this.#httpAgent,
          timeout: timeoutMs,
          headers:
            body === null ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
        },
        (response) => {
          let text = '';
          response.setEncoding('utf8');
          response.on('data', (chunk: string) => {
            if (text.length < answerKeptCharacters) text += chunk;
          });
          response.on('error', (error) => settle(null, error.message));
          response.on('end', () => settle(response.statusCode ?? null, text.slice(0, answerKeptCharacters)));
        },
      );
      outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer within ${timeoutMs} ms`)));
      outgoing.on('error', (error) => settle(null, error.message));
      outgoing.end(body ?? undefined);
    });
  }
}

/** The click's target: the action's own address, or the notification's. */
function linkOf(notification: ShownNotification, action: string | null): URL | null {
  const chosen =
    action === null ? notification.navigate : notification.actions.find((each) => each.action === action)?.url;
  return typeof chosen === 'string' ? parseUrl(chosen) : null;
}
