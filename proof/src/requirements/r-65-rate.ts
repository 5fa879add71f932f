// R-65: a key gets five times its rate of requests, over one node and over four. Admitted are its
// rate and one burst, and another key notices nothing.
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiNodes, callApi, startApiNodes } from '../../../rig/src/api-nodes.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';

/** The rate limits of a server key on the built-in plans, a second. */
const plans = [
  { plan: 'free', rate: 10 },
  { plan: 'growth', rate: 60 },
  { plan: 'pro', rate: 300 },
] as const;
const overload = 5;
const tickMs = 20;

interface Keys {
  readonly server_key: string;
}

interface Counts {
  admitted: number;
  limited: number;
  other: number;
  /**
   * Seconds until the last answer: a machine that is busy otherwise answers late, and the bucket
   * fills meanwhile.
   */
  seconds: number;
}

/** Sends requests at a fixed rate, to the nodes in turn, whether or not answers come. */
async function offer({ nodes }: ApiNodes, key: string, perSecond: number, seconds: number): Promise<Counts> {
  const counts: Counts = { admitted: 0, limited: 0, other: 0, seconds: 0 };
  const asked: Promise<void>[] = [];
  const startedAt = performance.now();
  for (let offered = 0; offered < perSecond * seconds; ) {
    const due = Math.min(perSecond * seconds, ((performance.now() - startedAt) / 1000) * perSecond);
    for (; offered < due; offered++) {
      const url = `${nodes[offered % nodes.length]?.url}/v1/config`;
      asked.push(
        callApi(url, { key }).then(
          ({ status }) => {
            if (status === 200) counts.admitted++;
            else if (status === 429) counts.limited++;
            else counts.other++;
          },
          () => {
            counts.other++;
          },
        ),
      );
    }
    await sleep(tickMs);
  }
  await Promise.all(asked);
  counts.seconds = (performance.now() - startedAt) / 1000;
  return counts;
}

async function proveOn(count: number, { isQuick, report, workbench: whole }: ProofOptions): Promise<void> {
  const seconds = isQuick ? 3 : 60;
  const workbench = whole.apart();
  try {
    const nodes = await startApiNodes(workbench, { count });
    for (const { plan, rate } of plans) {
      const loud = await nodes.run<Keys>('app', 'create', `Loud ${plan}`, '--plan', plan);
      const calm = await nodes.run<Keys>('app', 'create', `Calm ${plan}`, '--plan', plan);
      const [offered, beside] = await Promise.all([
        offer(nodes, loud.server_key, overload * rate, seconds),
        offer(nodes, calm.server_key, rate / 2, seconds),
      ]);
      const { admitted, limited, other } = offered;
      const [least, most] = [0.95 * rate * seconds + rate, 1.02 * rate * offered.seconds + rate];
      report.claim(
        `plan ${plan}, ${count === 1 ? 'one node' : `${count} nodes`}: 95 to 102 % of ${rate} a second and a burst`,
        `${admitted} of ${admitted + limited + other} in ${offered.seconds.toFixed(1)} s; ${Math.ceil(least)} to ${Math.floor(most)} may be`,
        [
          ...(admitted < least || admitted > most ? [`${admitted} were admitted`] : []),
          ...(other > 0 ? [`${other} had another answer, or none`] : []),
        ],
      );
      report.claim(
        `plan ${plan}: a key beside it that keeps to half of its rate is never refused`,
        `${beside.admitted} of ${beside.admitted + beside.limited + beside.other}`,
        beside.limited + beside.other > 0 ? [`${beside.limited} refused, ${beside.other} otherwise`] : [],
      );
    }
  } finally {
    await workbench.close();
  }
}

export const requirement: Requirement = {
  number: 'R-65',
  title: 'A key is admitted its rate and a burst, whatever is offered',
  leftOut: 'measures a rate, for which the machine must spare 2,000 requests a second',
  async run(options) {
    for (const count of [1, 4]) await proveOn(count, options);
  },
};
