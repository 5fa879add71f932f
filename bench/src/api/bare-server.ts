// A bare `node:http` server that reads one row and answers some bytes. The rates of the API's reads
// are compared with it in the same run, because machines differ, and one machine differs by the
// hour.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openPool } from '@carillon/postgres';
import { serveParent } from '../child-end.ts';

export interface BareServerPlan {
  readonly databaseUrl: string;
  readonly body: string;
}

serveParent(async ({ databaseUrl, body }: BareServerPlan): Promise<number> => {
  const sql = openPool({ url: databaseUrl, connectionsMax: 4, name: 'bench', statementTimeoutMs: 10_000 });
  const server = createServer((_request, response) => {
    void sql`SELECT id FROM apps LIMIT 1`.then(() => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
      response.end(body);
    });
  });
  // Connections are kept longer than Node's five seconds, because a busy machine may pause for
  // longer.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
});
