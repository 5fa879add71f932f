// Makes requests whose every part contains their number, and judges whether an answer belongs to
// its request.

import type { PoolResult } from '../../../packages/http2/src/pool.ts';
import { answerBodyLimits } from '../../../packages/http2/src/result.ts';
import type { Random } from '../../../rig/src/random.ts';
import type { ForeignServer, Mood } from './foreign-server.ts';
import { type Asked, markerText } from './marked-request.ts';

/** Exclusive upper bounds of body sizes, in bytes. */
const sizesBelow = [1, 100, 5_000, 5_000, 70_000, 300_000];
const timeoutMs = 60_000;

/** Header values that repeat, so that both sides find them in their HPACK tables. */
const knownEchoes = ['normal', 'high', 'very-low', 'text/plain; charset=utf-8', 'a'.repeat(300)];

function makeEcho(random: Random): string {
  if (random.below(3) > 0) return random.pick(knownEchoes);
  const length = 1 + random.below(random.pick([20, 200, 2_500]));
  return String.fromCharCode(...Array.from({ length }, () => 0x21 + random.below(0x5e)));
}

/** A path that already has a query stays as it is. */
const pathOf = (path: string, id: number) => (path.includes('?') ? path : `${path}?id=${id}`);

export function ask(id: number, mood: Mood, random: Random): Asked {
  const { bodyBytesMax = 300_000, paths = ['/'], timeoutsMs = [timeoutMs] } = mood;
  // Never empty: the body may be the only part of an answer that shows which request it belongs to.
  const bodyBytes = Math.min(bodyBytesMax, 10 + random.below(random.pick(sizesBelow)));
  const echo = makeEcho(random);
  const ttl = String(random.below(4));
  return {
    id,
    echo,
    request: {
      path: pathOf(random.pick(paths), id),
      headers: { 'content-type': 'application/octet-stream', 'x-id': String(id), 'x-echo': echo, ttl },
      unindexed: random.below(2) === 0 ? ['x-id'] : ['x-id', 'x-echo'],
      body: Buffer.from(markerText(id, bodyBytes), 'latin1'),
      timeoutMs: random.pick(timeoutsMs),
    },
  };
}

/**
 * The ending of a request. `foreign` is an answer that belongs to another request, which is always
 * an error.
 */
export type Ending = 'answered' | 'replayable' | 'failed' | 'foreign';

export function endingOf(asked: Asked, result: PoolResult, mood: Mood, server: ForeignServer): Ending {
  if ('unsupported' in result) return 'foreign';
  if ('transportError' in result) return result.written ? 'failed' : 'replayable';
  const { status, headers, body, truncated } = result;
  if (server.echoesHeaders && (headers['x-id'] !== String(asked.id) || headers['x-echo'] !== asked.echo)) {
    return 'foreign';
  }
  if (status !== 200) return mood.statuses?.includes(status) ? 'answered' : 'foreign';
  const whole = server.answerTo(asked);
  const kept = whole.slice(0, answerBodyLimits.keepMax);
  if ((body ?? '') === kept && truncated === whole.length > kept.length) return 'answered';
  // The answer broke off. The part that did arrive must still belong to this request.
  return truncated && mood.may === 'fail' && kept.startsWith(body ?? '') ? 'answered' : 'foreign';
}
