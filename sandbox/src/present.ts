// Records as JSON: the only place that knows the wire names. A sender's text goes out as text
// inside JSON; no markup is made of it.
import type { InboxEntry } from './inbox.ts';
import type { Counters, PushRecord } from './push-log.ts';

export function presentRecord(record: PushRecord): Record<string, unknown> {
  const { request, notification } = record;
  return {
    id: record.id,
    at: new Date(request.at).toISOString(),
    service: record.service,
    vendor: record.vendor,
    token: record.token,
    endpoint: record.endpoint,
    delivered: record.isDelivered,
    fault: record.fault,
    answer: record.answer,
    checks: record.checks.map(({ name, verdict, detail }) => ({ name, verdict, detail })),
    vapid: record.vapid,
    provider_token: record.providerToken,
    payload: record.payload === null ? null : { text: record.payload.text, json: record.payload.json ?? null },
    notification:
      notification === null
        ? null
        : {
            title: notification.title,
            body: notification.body,
            icon: notification.icon,
            image: notification.image,
            badge: notification.badge,
            url: notification.url,
            navigate: notification.navigate,
            tag: notification.tag,
            actions: notification.actions,
            silent: notification.isSilent,
            require_interaction: notification.isRequiringInteraction,
            dir: notification.dir,
            lang: notification.lang,
            declarative: notification.isDeclarative,
            receipt_token: notification.receiptToken,
            phone: notification.phone,
          },
    request: {
      protocol: request.protocol,
      connection: request.connectionId,
      method: request.method,
      authority: request.authority,
      path: request.path,
      headers: request.headers,
      body_bytes: request.bodyBytes,
      body: request.body.toString('base64url'),
    },
  };
}

export function presentEntry(entry: InboxEntry): Record<string, unknown> {
  return { ...presentRecord(entry.record), ...presentState(entry) };
}

/** The parts of an entry that can change after its arrival. */
export function presentState({ record, state, receipts }: InboxEntry): Record<string, unknown> {
  return {
    id: record.id,
    state,
    receipts: receipts.map(({ event, action, at, status, detail }) => ({
      event,
      action,
      at: new Date(at).toISOString(),
      status,
      detail,
    })),
  };
}

export function presentCounters(counters: Counters): Record<string, unknown> {
  const { byStatus, byVendor, tokenRequests, streamsExceeded, ...rest } = counters;
  return {
    ...rest,
    token_requests: tokenRequests,
    streams_exceeded: streamsExceeded,
    by_status: byStatus,
    by_vendor: byVendor,
  };
}
