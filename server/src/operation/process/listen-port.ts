// Checks the port that the service listens on before anything is created. When it is not available,
// a sentence says why and what to do. Nothing stays open.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { startCommand } from '../../ground/host/program-name.ts';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Ports after the taken one among which a free one is searched. */
const portsTried = 20;

/** Rejects, with a sentence for the operator, when nothing can listen at this address. */
export async function checkListenAddress(address: ListenAddress): Promise<void> {
  try {
    await tryToListen(address);
  } catch (error) {
    throw await explainListenError(error, address);
  }
}

/** Returns the sentence for an error of `listen`; any other error is returned unchanged. */
export async function explainListenError(error: unknown, { host, port }: ListenAddress): Promise<unknown> {
  const { code } = error as { code?: string };
  if (code === 'EADDRINUSE') {
    const free = await findFreePort(host, port);
    return new Error(
      `PORT ${port} is taken, perhaps by another Carillon; choose another with PORT=${free} ${startCommand}`,
    );
  }
  if (code === 'EACCES') {
    return new Error(`PORT ${port} is not open to this user; choose one above 1023 with PORT=8080 ${startCommand}`);
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new Error(`HOST ${host} is no address of this machine; 127.0.0.1 is, and 0.0.0.0 stands for all of them`);
  }
  return error;
}

async function tryToListen({ host, port }: ListenAddress): Promise<void> {
  const server = createServer();
  server.listen({ host, port, exclusive: true });
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}

async function findFreePort(host: string, taken: number): Promise<number> {
  for (let port = taken + 1; port <= Math.min(taken + portsTried, 65_535); port++) {
    if (
      await tryToListen({ host, port }).then(
        () => true,
        () => false,
      )
    )
      return port;
  }
  return taken === 65_535 ? 8081 : taken + 1;
}
