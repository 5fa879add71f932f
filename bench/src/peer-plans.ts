// The peers of each way: libraries that people would use instead of Carillon, each used as its
// documentation advises. The bare loop is among them because it shows the most that `node:http2`
// can do.
import { readFileSync } from 'node:fs';
import type { Way } from './channels.ts';

export interface PeerPlan {
  /** The name of the package; several names are joined. */
  readonly name: string;
  readonly version: string;
  readonly program: URL;
  readonly note: string;
}

function library(name: string, program: URL, note: string): PeerPlan {
  return { name, version: versionOf(name), program, note: `${note}, sends only` };
}

const { devDependencies: versions } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  devDependencies: Readonly<Record<string, string>>;
};

/** The exact version: the package asks for no range. */
function versionOf(name: string): string {
  return versions[name] ?? 'unknown';
}

export function peerPlansOf(way: Way): readonly PeerPlan[] {
  const all = library(
    'node-pushnotifications',
    new URL('./peers/node-pushnotifications.ts', import.meta.url),
    'calls of 500 devices of a channel',
  );
  switch (way) {
    case 'webpush': {
      const note = 'keep-alive agent, 100 in flight';
      return [library('web-push', new URL('./peers/web-push.ts', import.meta.url), note)];
    }
    case 'apns': {
      const note = 'calls of 500 tokens with one text';
      return [
        library('@parse/node-apn', new URL('./peers/node-apn.ts', import.meta.url), note),
        library('apns2', new URL('./peers/apns2.ts', import.meta.url), 'sendMany of 500'),
        all,
      ];
    }
    case 'fcm': {
      const note = 'sendEach of 500, two at once';
      return [library('firebase-admin', new URL('./peers/firebase-admin.ts', import.meta.url), note), all];
    }
    case 'mixed': {
      const names = ['@parse/node-apn', 'firebase-admin', 'web-push'];
      const program = new URL('./peers/best-of-each.ts', import.meta.url);
      const note = 'one process, 500 devices of each at once, sends only';
      return [{ name: names.join(' + '), version: names.map(versionOf).join(', '), program, note }, all];
    }
  }
}

export function barePlanOf(way: Way): Pick<PeerPlan, 'name' | 'program'> {
  const does = { webpush: ' that encrypts', apns: '', fcm: '', mixed: ' that encrypts its web share' }[way];
  return { name: `bare node:http2 loop${does}`, program: new URL('./peers/bare-loop.ts', import.meta.url) };
}
