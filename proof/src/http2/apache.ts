// Apache httpd with its own configuration and data: three lines of Lua return every body. Its log
// says which requests it acted upon.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { certificateFile, keyFile } from '../../../rig/src/certificate.ts';
import { findFreePort } from '../../../rig/src/ports.ts';
import { findProgram, Scratch } from '../scratch.ts';
import {
  echoOf,
  type ForeignServer,
  type Mood,
  mostlyShort,
  readNumbers,
  shortBytes,
  shortPath,
} from './foreign-server.ts';
import { holdStill, killChildren } from './signals.ts';

const program = findProgram('apache2', 'httpd');
const modulesDirectory = ['/usr/lib/apache2/modules', '/usr/lib64/httpd/modules', '/usr/libexec/apache2'].find((path) =>
  existsSync(join(path, 'mod_http2.so')),
);

const moods: readonly Mood[] = [
  { name: 'bodies and answers of random sizes', paths: mostlyShort },
  {
    // A stream that arrives after its GOAWAY makes Apache drop the connection with everything in
    // progress, because `on_begin_headers_cb` returns a value that nghttp2 treats as a failure.
    // Written answers are lost with it.
    name: 'graceful restarts, with fewer streams and more',
    may: 'fail',
    paths: mostlyShort,
    shows: ['goaways', 'settings'],
    disturbances: [30, 2],
  },
  {
    name: 'windows of a kilobyte',
    settings: { H2WindowSize: 1_024 },
    paths: mostlyShort,
    shows: ['windowUpdates'],
    bodyBytesMax: 30_000,
  },
  {
    name: 'requests that we give up, and answers before the request is whole',
    may: 'fail',
    paths: ['/', '/', '/', '/small'],
    statuses: [413],
    timeoutsMs: [...Array.from({ length: 15 }, () => 60_000), 5],
    shows: ['timeouts'],
    disturbances: [20, 2],
  },
  { name: 'killed processes', may: 'fail', paths: mostlyShort, forgets: true, shows: ['lost'], disturbances: [20, 2] },
];

export const apache: ForeignServer = {
  name: 'Apache httpd',
  debianPackage: 'apache2-bin',
  echoesHeaders: true,
  moods,
  answerTo: echoOf,
  findVersion() {
    if (program === undefined || modulesDirectory === undefined) return undefined;
    const { stdout } = spawnSync(program, ['-v'], { encoding: 'utf8' });
    return /Apache\/(\S+)/.exec(stdout)?.[1] ?? 'of an unknown version';
  },
  async start({ mood, workbench }) {
    const scratch = await Scratch.make(workbench, 'apache');
    const port = await findFreePort();
    const configurationFile = scratch.path('httpd.conf');
    const configure = (streams: number) => writeFile(configurationFile, configurationOf(scratch, port, mood, streams));
    await writeFile(scratch.path('echo.lua'), script);
    await configure(100);
    const running = await scratch.start(program ?? '', [
      '-d',
      scratch.directory,
      '-f',
      configurationFile,
      '-DFOREGROUND',
    ]);
    await running.listensOn(port);
    let disturbances = 0;
    return {
      port,
      async disturb() {
        disturbances += 1;
        const pid = running.child.pid ?? 0;
        if (mood.forgets === true) return killChildren(pid);
        if (mood.timeoutsMs !== undefined) return holdStill(pid);
        await configure([5, 100, 20][disturbances % 3] ?? 100);
        running.child.kill('SIGUSR1');
        await sleep(200);
      },
      async stop() {
        await running.stop('SIGTERM');
        const log = await readFile(scratch.path('acted.log'), 'utf8');
        await scratch.close();
        return readNumbers(log);
      },
    };
  },
};

const script = `
function handle(r)
  local body = r:requestbody()
  if body == nil then return 413 end
  if r.uri == "${shortPath}" then body = body:sub(1, ${shortBytes}) end
  r:write(body)
  return apache2.OK
end
`;

const modules = ['mpm_event', 'authz_core', 'headers', 'lua', 'ssl', 'http2'];

function configurationOf({ directory }: Scratch, port: number, { settings = {} }: Mood, streams: number): string {
  const all = { H2MaxSessionStreams: streams, ...settings };
  return `
${modules.map((name) => `LoadModule ${name}_module ${modulesDirectory}/mod_${name}.so`).join('\n')}
${process.getuid?.() === 0 ? 'User nobody\nGroup nogroup' : ''}
ServerName localhost
DefaultRuntimeDir ${directory}
PidFile ${directory}/apache.pid
ErrorLog ${directory}/error.log
LogLevel error
LogFormat "%{x-id}i %>s" number
CustomLog ${directory}/acted.log number
DocumentRoot ${directory}
Listen 127.0.0.1:${port}
StartServers 2
ServerLimit 6
ThreadsPerChild 25
MaxRequestWorkers 150
LimitRequestFieldSize 16000
Protocols h2
SSLEngine on
SSLCertificateFile ${certificateFile}
SSLCertificateKeyFile ${keyFile}
${Object.entries(all)
  .map(([name, value]) => `${name} ${value}`)
  .join('\n')}
Header always set x-id "expr=%{req:x-id}"
Header always set x-echo "expr=%{req:x-echo}"
LuaMapHandler ^ ${directory}/echo.lua
<Location "/small">
  LimitRequestBody 10000
</Location>
`;
}
