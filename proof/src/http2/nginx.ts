// nginx with its own configuration and data. It reads the whole body, passes the request to itself
// over a socket, and answers with the request's number and header. Its log says which requests it
// acted upon.
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { certificateFile, keyFile } from '../../../rig/src/certificate.ts';
import { findFreePort } from '../../../rig/src/ports.ts';
import { findProgram, Scratch } from '../scratch.ts';
import { type ForeignServer, type Mood, readNumbers } from './foreign-server.ts';
import { killChildren } from './signals.ts';

const program = findProgram('nginx');

const moods: readonly Mood[] = [
  { name: 'bodies and answers of random sizes' },
  {
    name: 'GOAWAY after every 60 requests',
    may: 'refuse',
    settings: { keepalive_requests: 60 },
    shows: ['goaways'],
  },
  {
    name: 'configurations that come and go, with fewer streams and more',
    may: 'refuse',
    shows: ['goaways', 'settings'],
    disturbances: [40, 4],
  },
  {
    name: 'windows of one byte that open late',
    settings: { http2_body_preread_size: 1 },
    shows: ['windowUpdates'],
    bodyBytesMax: 20_000,
  },
  {
    name: 'resets, and answers before the request is whole',
    may: 'fail',
    paths: ['/', '/', '/', '/reset', '/small'],
    statuses: [413],
    shows: ['resets'],
  },
  { name: 'killed workers', may: 'fail', forgets: true, statuses: [502], shows: ['lost'], disturbances: [20, 2] },
];

export const nginx: ForeignServer = {
  name: 'nginx',
  debianPackage: 'nginx',
  echoesHeaders: true,
  moods,
  answerTo: ({ id, echo }) => `#${id}:${echo.repeat(4)}`,
  findVersion() {
    if (program === undefined) return undefined;
    return /nginx\/(\S+)/.exec(spawnSync(program, ['-v'], { encoding: 'utf8' }).stderr)?.[1] ?? 'of an unknown version';
  },
  async start({ mood, workbench }) {
    const scratch = await Scratch.make(workbench, 'nginx');
    const port = await findFreePort();
    const configurationFile = scratch.path('nginx.conf');
    const configure = (streams: number) => writeFile(configurationFile, configurationOf(scratch, port, mood, streams));
    await configure(100);
    const running = await scratch.start(program ?? '', ['-p', scratch.directory, '-c', configurationFile]);
    await running.listensOn(port);
    let disturbances = 0;
    return {
      port,
      async disturb() {
        disturbances += 1;
        if (mood.forgets === true) {
          await killChildren(running.child.pid ?? 0);
          return;
        }
        await configure([3, 100, 20][disturbances % 3] ?? 100);
        running.child.kill('SIGHUP');
        await sleep(50);
      },
      async stop() {
        // A gentle stop, so that nginx writes its log to the end.
        await running.stop('SIGQUIT');
        const log = await readFile(scratch.path('acted.log'), 'utf8');
        await scratch.close();
        return readNumbers(log);
      },
    };
  },
};

function configurationOf({ directory }: Scratch, port: number, { settings = {} }: Mood, streams: number): string {
  const all = { keepalive_requests: 1_000_000, http2_body_preread_size: 65_536, ...settings };
  const lines = Object.entries(all).map(([name, value]) => `${name} ${value};`);
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${name};`);
  return `
daemon off;
${process.getuid?.() === 0 ? 'user root root;' : ''}
worker_processes 2;
pid nginx.pid;
error_log error.log error;
events { worker_connections 512; }
http {
  ${places.join('\n  ')}
  log_format number '$http_x_id $status';
  access_log ${directory}/acted.log number;
  client_max_body_size 1m;
  large_client_header_buffers 4 16k;
  ${lines.join('\n  ')}
  http2_max_concurrent_streams ${streams};
  upstream itself { server unix:${directory}/itself.sock; }
  server {
    listen 127.0.0.1:${port} ssl http2;
    ssl_certificate ${certificateFile};
    ssl_certificate_key ${keyFile};
    add_header x-id $http_x_id always;
    add_header x-echo $http_x_echo always;
    location / { proxy_pass http://itself; }
    location /reset { return 444; }
    location /small { client_max_body_size 10k; proxy_pass http://itself; }
  }
  server {
    listen unix:${directory}/itself.sock;
    access_log off;
    location / { return 200 '#$http_x_id:$http_x_echo$http_x_echo$http_x_echo$http_x_echo'; }
  }
}
`;
}
