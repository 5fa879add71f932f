// Reports of the worker to the open pages of its site. They contain only what the notification
// showed.

export interface PushReport {
  /**
   * `renewed`: the browser replaced its subscription. `receipt_lost`: a mark did not reach the
   * service.
   */
  readonly kind: 'pushed' | 'displayed' | 'clicked' | 'dismissed' | 'renewed' | 'receipt_lost';
  readonly messageId: string | null;
  readonly title: string | null;
  readonly body: string | null;
  /** The clicked button; null for the notification itself. */
  readonly action: string | null;
  /** Milliseconds since 1970, by this browser's clock. */
  readonly at: number;
}

const channelName = (scope: string): string => `carillon ${scope}`;

export function announce(scope: string, report: PushReport): void {
  if (typeof BroadcastChannel === 'undefined') return;
  const channel = new BroadcastChannel(channelName(scope));
  channel.postMessage(report);
  channel.close();
}

/** Receives the reports of one scope until the returned function is called. */
export function listen(scope: string, listener: (report: PushReport) => void): () => void {
  if (typeof BroadcastChannel === 'undefined') return () => {};
  const channel = new BroadcastChannel(channelName(scope));
  channel.onmessage = (event: MessageEvent<PushReport>) => listener(event.data);
  return () => channel.close();
}
