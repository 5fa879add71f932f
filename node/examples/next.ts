// Webhooks with Next.js: a route handler (app/hooks/carillon/route.ts) gets a Web Request with
// unread bytes. It must run on Node: `export const runtime = 'nodejs'`.
import { verifyWebhook, type WebhookEvent, WebhookVerificationError } from '@carillon/node';

/** `export const POST = carillonWebhook(secret, handle)` */
export function carillonWebhook(secret: string, handle: (event: WebhookEvent) => Promise<void>) {
  return async (request: Request): Promise<Response> => {
    const body = new Uint8Array(await request.arrayBuffer());
    let event: WebhookEvent;
    try {
      event = verifyWebhook(body, request.headers.get('service-signature'), secret);
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      return Response.json({ error: error.reason }, { status: 401 });
    }
    await handle(event);
    return new Response(null, { status: 204 });
  };
}
