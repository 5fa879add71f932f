// Who stands beside us on each way: the libraries that people would use instead, each as its documentation advises, and the
// bare loop that bounds what `node:http2` can do.
import { readFileSync } from 'node:fs';
import type { Way } from './channels.ts';

export interface PeerPlan {
  /** Of its package; of several, the names together. */
  readonly name: string;
  readonly version: string;
  readonly program: URL;
  readonly note: string;
}

const program = (name: string) => new URL(`./peers/${name}.ts`, import.meta.url);

function library(name: string, note: string, file = name): PeerPlan {
  return { name, version: versionOf(name), program: program(file), note: `${note}, sends only` };
}

const { devDependencies: versions } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  devDependencies: Readonly<Record<string, string>>;
};

/** The exact one: the package asks for no range. */
function versionOf(name: string): string {
  return versions[name] ?? 'unknown';
}

export function peerPlansOf(way: Way): readonly PeerPlan[] {
  const all = library('node-pushnotifications', 'calls of 500 devices a channel');
  switch (way) {
    case 'webpush':
      return [library('web-push', 'keep-alive agent, 100 in flight')];
    case 'apns':
      return [
        library('@parse/node-apn', 'calls of 500 tokens with one text', 'node-apn'),
        library('apns2', 'sendMany of 500'),
        all,
      ];
    case 'fcm':
      return [library('firebase-admin', 'sendEach of 500, two at once'), all];
    case 'mixed': {
      const names = ['@parse/node-apn', 'firebase-admin', 'web-push'];
      const note = 'one process, 500 devices of each at once, sends only';
      return [
        { name: names.join(' + '), version: names.map(versionOf).join(', '), program: program('best-of-each'), note },
        all,
      ];
    }
  }
}

export function barePlanOf(way: Way): Pick<PeerPlan, 'name' | 'program'> {
  const does = { webpush: ' that encrypts', apns: '', fcm: '', mixed: ' that encrypts its web share' }[way];
  return { name: `bare node:http2 loop${does}`, program: program('bare-loop') };
}
