// `webhook replay`: puts the events of a period into the outbox again. The service sends them; this
// command only queues them.

import type { Command } from 'commander';
import { type Replayed, replayEvents } from '../delivery/replay-events.ts';
import { encodeId } from '../ground/ids.ts';
import { programName } from '../ground/program-name.ts';
import { findMessageToSend } from '../messages/queries.ts';
import type { ReplayStop } from '../webhooks/begin-replay.ts';
import { checkKind } from '../webhooks/manage-webhooks.ts';
import { eventKinds, subscribedKinds } from '../webhooks/webhook.ts';
import { type Answer, type AnswerOptions, answer, note, withJson } from './answer.ts';
import { CommandError } from './command-error.ts';
import { withWebhook } from './find-webhook.ts';
import { readTime } from './read-time.ts';

interface ReplayOptions {
  readonly from: string;
  readonly to: string;
  readonly event: readonly string[];
}

export function addReplayCommand(webhook: Command): void {
  const collect = (kind: string, before: string[]): string[] => [...before, kind];
  withJson(webhook.command('replay <ID>'))
    .description('send the events of a period again, from the deliveries that are kept')
    .requiredOption('--from <TIME>', 'the beginning; an event at exactly this time is sent')
    .requiredOption('--to <TIME>', 'the end; an event at exactly this time is not sent')
    .option('--event <EVENT>', `one of ${eventKinds.join(', ')}; without it all subscribed events`, collect, [])
    .action((id: string, options: AnswerOptions & ReplayOptions) => answer(options, () => replay(id, options)));
}

/** Events between two lines of progress, which a waiting person reads. */
const progressEvery = 50_000;

async function replay(text: string, options: ReplayOptions): Promise<Answer> {
  const [from, to] = [readTime('--from', options.from), readTime('--to', options.to)];
  if (from >= to) throw new CommandError('--from must be before --to.');
  const kinds = [...new Set(options.event)].map(checkKind);
  return withWebhook(text, async ({ sql, clock, by }, webhook) => {
    const id = encodeId('whk', webhook.id);
    if (webhook.state === 'disabled') {
      throw new CommandError(
        `A disabled webhook is not called: enable it first, with: ${programName} webhook enable ${id}`,
      );
    }
    const subscribed = subscribedKinds(webhook.events);
    if (kinds.length > 0 && !kinds.some((kind) => subscribed.includes(kind))) {
      throw new CommandError(`The webhook is not subscribed to these events: it is told of ${subscribed.join(', ')}.`);
    }
    const [deps, request] = [
      { sql, clock, by, ledger: { find: findMessageToSend } },
      { from, to, kinds },
    ];
    const { queued, queuedBefore, stop } = await withProgress((onProgress) =>
      replayEvents(deps, webhook, { ...request, onProgress }),
    );
    const told = `${queued} ${queued === 1 ? 'event' : 'events'} of that period will be told again`;
    return {
      document: { id, from, to, queued, queued_before: queuedBefore, complete: stop === undefined },
      text: queuedBefore === 0 ? `${told}.` : `${told}, beside ${queuedBefore} of an interrupted replay.`,
      ...(stop && { problem: problems[stop] }),
    };
  });
}

const problems: Readonly<Record<ReplayStop, string>> = {
  refused: 'The webhook was disabled or deleted meanwhile: the rest was not queued.',
  elsewhere: 'Another command goes on with the same replay: the rest is queued by it.',
};

async function withProgress(work: (onProgress: (queued: number) => void) => Promise<Replayed>): Promise<Replayed> {
  let queuedSoFar = 0;
  let toldAt = 0;
  try {
    return await work((queued) => {
      queuedSoFar = queued;
      if (queued - toldAt < progressEvery) return;
      toldAt = queued;
      note(`${queued} events queued so far`);
    });
  } catch (error) {
    note(`${queuedSoFar} events were queued; the same command goes on from there.`);
    throw error;
  }
}
