// Webhooks with Hono: `arrayBuffer` gives the bytes, as long as no earlier handler has read the
// JSON.
import { verifyWebhook, type WebhookEvent, WebhookVerificationError } from '@carillon/node';
import { Hono } from 'hono';

export function carillonWebhook(secret: string, handle: (event: WebhookEvent) => Promise<void>): Hono {
  return new Hono().post('/hooks/carillon', async (context) => {
    const body = new Uint8Array(await context.req.arrayBuffer());
    let event: WebhookEvent;
    try {
      event = verifyWebhook(body, context.req.header('service-signature'), secret);
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      return context.json({ error: error.reason }, 401);
    }
    await handle(event);
    return context.body(null, 204);
  });
}
