// R-38b: our HTTP/2 client works through the faults of four servers of other authors, and survives
// a million frames that no honest peer sends.
import { apache } from '../http2/apache.ts';
import { drive } from '../http2/drive.ts';
import type { ForeignServer } from '../http2/foreign-server.ts';
import { proveAgainstFuzzer } from '../http2/fuzz.ts';
import { nghttpd } from '../http2/nghttpd.ts';
import { nginx } from '../http2/nginx.ts';
import { nodeServer } from '../http2/node-server.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';

const servers: readonly ForeignServer[] = [nodeServer, nghttpd, nginx, apache];

/** Requests to each server. */
const requestsFull = 100_000;
const requestsQuick = 2_400;

const counted = (value: number) => value.toLocaleString('en');

async function proveServer(server: ForeignServer, options: ProofOptions): Promise<void> {
  const { isQuick, report } = options;
  const version = server.findVersion();
  if (version === undefined) {
    report.missing(
      `${server.name}, ${server.moods.length} moods`,
      `Install ${server.name} (Debian: apt-get install ${server.debianPackage}).`,
    );
    return;
  }
  const requests = Math.ceil((isQuick ? requestsQuick : requestsFull) / server.moods.length);
  for (const mood of server.moods) {
    const { asked, endings, sights, seconds, complaints } = await drive({ ...options, server, mood, requests });
    const ended = `${counted(endings.answered)} own answers, ${counted(endings.replayable)} replayable, ${counted(endings.failed)} failed`;
    const seen = sights.describe(['connections', ...(mood.shows ?? [])]);
    report.claim(
      `${server.name} ${version}, ${mood.name}`,
      `${counted(asked)} asked: ${ended}; ${seen}; ${seconds.toFixed(1)} s`,
      complaints,
    );
  }
}

export const requirement: Requirement = {
  number: 'R-38b',
  title: 'HTTP/2 client: each request ends once, with its own answer, or replayable',
  async run(options) {
    for (const server of servers) await proveServer(server, options);
    await proveAgainstFuzzer(options);
  },
};
