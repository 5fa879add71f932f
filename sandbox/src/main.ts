// The command line: starts a sandbox, prints its addresses and Carillon's settings, and stops it on
// a signal.

import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { parseUrl } from './parse-url.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from './sandbox.ts';

const usage = `carillon-sandbox: push providers on your own machine, with an inbox

  --port P          inbox and control, plain HTTP (default 8090; 0: any free port)
  --push-port P     the push services, TLS (default 8443; 0: any free port); APNs is on the next two ports,
                    production and sandbox, and FCM on the one behind them
  --host ADDRESS    address of both (default 127.0.0.1)
  --endpoint-host N host name in endpoints (default localhost)
  --data-dir DIR    keeps certificate and subscriptions (default ./data/sandbox)
  --receipts URL    address of the Carillon that gets displayed, clicked and dismissed
  --blind           accepts every push unread, for benchmarks
  --history         keeps one line for every push, without bound (GET /history)
  --history-file F  appends that line to a file
  --json            prints one JSON document of addresses when ready
  --help            prints this
`;

interface Invocation {
  readonly sandbox: SandboxOptions;
  readonly isJson: boolean;
}

/**
 * Runs until SIGINT or SIGTERM. Resolves with the exit status. When it is 1, one line on standard
 * error gives the reason.
 */
export async function main(argv: readonly string[]): Promise<number> {
  let sandbox: Sandbox;
  let invocation: Invocation | 'help';
  try {
    invocation = parseInvocation(argv);
    if (invocation === 'help') {
      process.stdout.write(usage);
      return 0;
    }
    sandbox = await startSandbox(invocation.sandbox);
  } catch (error) {
    process.stderr.write(`carillon-sandbox: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
  const stopped = new Promise<void>((stop) => {
    process.once('SIGINT', () => stop());
    process.once('SIGTERM', () => stop());
  });
  process.stdout.write(invocation.isJson ? `${JSON.stringify(presentAddresses(sandbox))}\n` : describe(sandbox));
  await stopped;
  await sandbox.close();
  return 0;
}

function parseInvocation(argv: readonly string[]): Invocation | 'help' {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      port: { type: 'string', default: '8090' },
      'push-port': { type: 'string', default: '8443' },
      host: { type: 'string', default: '127.0.0.1' },
      'endpoint-host': { type: 'string', default: 'localhost' },
      'data-dir': { type: 'string', default: 'data/sandbox' },
      receipts: { type: 'string' },
      blind: { type: 'boolean', default: false },
      history: { type: 'boolean', default: false },
      'history-file': { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  if (values.receipts !== undefined && !/^https?:$/.test(parseUrl(values.receipts)?.protocol ?? '')) {
    throw new Error('--receipts must be an http or https address');
  }
  const pushPort = parsePort('--push-port', values['push-port']);
  const behind = (offset: number): number => (pushPort === 0 ? 0 : pushPort + offset);
  if (pushPort > 65_532) throw new Error('--push-port must leave three ports behind it');
  return {
    sandbox: {
      host: values.host,
      endpointHost: values['endpoint-host'],
      port: parsePort('--port', values.port),
      pushPort,
      apnsPort: behind(1),
      apnsSandboxPort: behind(2),
      fcmPort: behind(3),
      // Absolute, because it becomes OUTBOUND_CA_FILE of a program in another directory.
      dataDir: resolve(values['data-dir']),
      accept: values.blind ? 'blind' : 'strict',
      keepHistory: values.history,
      ...(values['history-file'] === undefined ? {} : { historyFile: resolve(values['history-file']) }),
      ...(values.receipts === undefined ? {} : { receiptsUrl: values.receipts }),
    },
    isJson: values.json,
  };
}

function parsePort(name: string, value: string): number {
  const port = Number(value);
  if (!/^\d+$/.test(value) || port > 65_535) throw new Error(`${name} must be a port number, it is ${value}`);
  return port;
}

function presentAddresses(sandbox: Sandbox): unknown {
  return {
    inbox: sandbox.controlUrl,
    control: sandbox.controlUrl,
    push_origin: sandbox.pushOrigin,
    push_port: sandbox.pushPort,
    apns_url: sandbox.phoneUrls.apns,
    apns_sandbox_url: sandbox.phoneUrls.apnsSandbox,
    fcm_url: sandbox.phoneUrls.fcm,
    fcm_token_url: sandbox.phoneUrls.fcmToken,
    certificate_file: sandbox.certificateFile,
    environment: sandbox.environment,
  };
}

function describe(sandbox: Sandbox): string {
  const variables = Object.entries(sandbox.environment).map(([name, value]) => `  ${name}=${value}`);
  return [
    'The push sandbox is running.',
    '',
    `  Inbox and control   ${sandbox.controlUrl}`,
    `  Push services       ${sandbox.pushOrigin}`,
    `  APNs                ${sandbox.phoneUrls.apns}, development ${sandbox.phoneUrls.apnsSandbox}`,
    `  FCM                 ${sandbox.phoneUrls.fcm}`,
    `  Certificate         ${sandbox.certificateFile}`,
    '',
    'Start Carillon with',
    '',
    ...variables,
    '',
    'and make a browser, whose answer is a subscription to register with POST /v1/devices:',
    '',
    `  curl -s ${sandbox.controlUrl}/subscriptions -H 'content-type: application/json' \\`,
    `    -d '{"vendor":"fcm","vapid_key":"YOUR_VAPID_PUBLIC_KEY"}'`,
    '',
    'A phone, and who may send to it:',
    '',
    `  curl -s ${sandbox.controlUrl}/devices -d '{"platform":"ios"}'`,
    `  curl -s ${sandbox.controlUrl}/apns/keys -d '{}'`,
    `  curl -s ${sandbox.controlUrl}/fcm/service-accounts -d '{}'`,
    '',
    '',
  ].join('\n');
}
