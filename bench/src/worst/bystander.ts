// Measures what a quiet app notices of a client key that sends the worst bodies, as fast as they are
// admitted.
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../../../rig/src/measure.ts';
import type { Service } from '../../../rig/src/service.ts';
import { RunError } from '../../../rig/src/workbench.ts';
import { eventRoutes } from '../../../server/src/insight/events/routes.ts';
import type { FilledApp } from '../api/fill-app.ts';
import { type Figure, figure } from '../figures.ts';
import { lateFaults, worstBodiesOf } from './bodies.ts';
import { sendOnce } from './sender.ts';

const connections = 8;
const calmEveryMs = 20;
/** The number of turns, each alone and beside. */
const stretches = 8;
const bodyBytes = 255 * 1024;
/** The target of a p95, unless twice the p95 alone is more. */
const besideMsMost = 100;

export interface BystanderPlan {
  /** The plan of the attacker's app. */
  readonly plan: string;
  readonly attacker: FilledApp;
  readonly calm: FilledApp;
  readonly seconds: number;
}

interface Asked {
  readonly ms: number[];
  unavailable: number;
}

export async function measureBystander(
  { port }: Service,
  { plan, attacker, calm, seconds }: BystanderPlan,
): Promise<Figure[]> {
  const { schema, example } = eventRoutes[0]?.body ?? {};
  if (!schema) throw new RunError('/v1/events takes no body');
  const bodies = [...worstBodiesOf(schema, example), ...(lateFaults['POST /v1/events'] ?? [])]
    .map(({ make }) => make(bodyBytes - 2048))
    .filter(({ length }) => length <= 256 * 1024);
  const agent = new Agent({ keepAlive: true });
  const ask = async (asked: Asked): Promise<void> => {
    const answers: Promise<void>[] = [];
    const endAt = performance.now() + (seconds * 1000) / stretches / 2;
    while (performance.now() < endAt) {
      const from = performance.now();
      const place = { method: 'GET', path: '/v1/config', key: calm.clientKeys[0] };
      answers.push(
        sendOnce(agent, port, place, Buffer.alloc(0)).then(({ status }) => {
          asked.ms.push(performance.now() - from);
          if (status === 503) asked.unavailable++;
        }),
      );
      await sleep(calmEveryMs);
    }
    await Promise.all(answers);
  };
  const counts = { refused: 0, limited: 0 };
  let isOver = false;
  const attack = async (first: number): Promise<void> => {
    for (let i = first; !isOver; i++) {
      const body = bodies[i % bodies.length] ?? Buffer.from('{}');
      const place = { method: 'POST', path: '/v1/events', key: attacker.clientKeys[0] };
      // The refusal of an unread body ends its connection while the body is being written.
      const { status, retryAfterMs } = await sendOnce(agent, port, place, body).catch(() => ({
        status: 429,
        retryAfterMs: 50,
      }));
      if (status === 429) {
        counts.limited++;
        await sleep(retryAfterMs);
      } else counts.refused++;
    }
  };
  const alone: Asked = { ms: [], unavailable: 0 };
  const beside: Asked = { ms: [], unavailable: 0 };
  await ask({ ms: [], unavailable: 0 });
  // Both are measured in turns, because other programs slow the machine down for some seconds at a
  // time.
  for (let stretch = 0; stretch < stretches; stretch++) {
    await ask(alone);
    isOver = false;
    const attacks = Array.from({ length: connections }, (_, i) => attack(i * 7 + stretch * 29));
    await ask(beside);
    isOver = true;
    await Promise.all(attacks);
  }
  agent.destroy();
  const [aloneMs, besideMs] = [percentile(alone.ms, 0.95), percentile(beside.ms, 0.95)];
  const perSecond = (count: number): number => (2 * count) / seconds;
  return [
    figure(`a bystander alone, plan ${plan}: p95`, aloneMs, 'ms'),
    figure(`beside worst bodies, plan ${plan}: p95`, besideMs, 'ms', { atMost: Math.max(2 * aloneMs, besideMsMost) }),
    figure(`answered 503, plan ${plan}`, beside.unavailable, '', { atMost: 0 }),
    figure(`worst bodies refused, plan ${plan}`, perSecond(counts.refused), '/s'),
    figure(`worst bodies limited by 429, plan ${plan}`, perSecond(counts.limited), '/s'),
  ];
}
