// The whole description of the API, OpenAPI 3.1: served as GET /openapi.json and committed as docs/openapi.json, to the byte.
// Says of this version what it does, and nothing that is still to come.
import { componentSchemas } from './components.ts';
import { deliveryOperations } from './delivery-operations.ts';
import { deviceOperations } from './device-operations.ts';
import { eventOperations } from './event-operations.ts';
import { messageOperations } from './message-operations.ts';
import { type Operation, writeOperation } from './operation.ts';
import { propertyOperations } from './property-operations.ts';
import { receiptOperations } from './receipt-operations.ts';
import { componentHeaders, componentResponses } from './refusals.ts';
import { reportOperations } from './report-operations.ts';
import { segmentOperations } from './segment-operations.ts';
import { serviceOperations } from './service-operations.ts';
import { userOperations } from './user-operations.ts';

const operations: readonly Operation[] = [
  ...messageOperations,
  ...deliveryOperations,
  ...userOperations,
  ...propertyOperations,
  ...segmentOperations,
  ...deviceOperations,
  ...eventOperations,
  ...reportOperations,
  ...receiptOperations,
  ...serviceOperations,
];

const about = `Carillon is a self-hosted push notification service: one API that rings every device.

- Success is 200 with an object; a refusal has the same shape everywhere, and \`error\` says which it is.
- An unknown field or query parameter is 400. Null clears a stored value, removes an inherited one in \`content\`, and is an
  omission elsewhere. In answers an absent value is null.
- GET is also served as HEAD. An unknown path or a wrong method is 404.
- Endpoints for client keys, and the public ones under /v1, answer any browser origin, without credentials.
- Within /v1 later versions only add: a program ignores fields, warnings and skip reasons it does not know. Closed are the HTTP
  statuses, \`error\`, the codes of issues, the error codes of deliveries, and the statuses of messages and deliveries.`;

function pathsOf(all: readonly Operation[]): Record<string, Record<string, object>> {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of all) {
    paths[operation.path] = { ...paths[operation.path], [operation.method]: writeOperation(operation) };
  }
  return paths;
}

/** The document as it is served and committed. */
export function openapiText(): string {
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Carillon',
      version: '1',
      summary: 'One API that rings every device.',
      description: about,
      license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'Where this description is served.' }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name })),
    paths: pathsOf(operations),
    components: {
      securitySchemes: {
        serverKey: { type: 'http', scheme: 'bearer', description: 'A server key, `sk_live_…`. It stays on servers.' },
        clientKey: { type: 'http', scheme: 'bearer', description: 'A client key, `ck_live_…`, for apps and pages.' },
      },
      headers: componentHeaders,
      responses: componentResponses(),
      schemas: componentSchemas(),
    },
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}
