// Webhooks with Express: `express.raw` keeps the bytes, on this route alone. Register it before any
// `express.json()`, which would otherwise read the body first.
import { verifyWebhook, type WebhookEvent, WebhookVerificationError } from '@carillon/node';
import express, { type Express } from 'express';

export function addCarillonWebhook(app: Express, secret: string, handle: (event: WebhookEvent) => Promise<void>): void {
  app.post('/hooks/carillon', express.raw({ type: () => true }), async (request, response) => {
    let event: WebhookEvent;
    try {
      event = verifyWebhook(request.body ?? '', request.get('service-signature'), secret);
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      response.status(401).json({ error: error.reason });
      return;
    }
    await handle(event);
    response.status(204).end();
  });
}
