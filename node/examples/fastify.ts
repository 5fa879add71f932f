// Webhooks with Fastify: inside a plugin of its own, the JSON parser is replaced by one that keeps
// the bytes. Routes outside the plugin are still parsed.
import { verifyWebhook, type WebhookEvent, WebhookVerificationError } from '@carillon/node';
import type { FastifyInstance } from 'fastify';

export async function carillonWebhook(
  app: FastifyInstance,
  { secret, handle }: { secret: string; handle: (event: WebhookEvent) => Promise<void> },
): Promise<void> {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.post<{ Body: Buffer | null }>('/hooks/carillon', async (request, reply) => {
    let event: WebhookEvent;
    try {
      event = verifyWebhook(request.body ?? '', request.headers['service-signature'], secret);
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      return reply.code(401).send({ error: error.reason });
    }
    await handle(event);
    return reply.code(204).send();
  });
}
