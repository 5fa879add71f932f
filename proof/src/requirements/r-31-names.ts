// webhooks to a name that resolves to a different address at every question. No send may
// connect to an address that is not public, in whatever spelling the address comes.

import { privateAddresses, sendThroughFlips } from '../../../rig/src/webhook-flips.ts';
import type { Requirement } from '../requirement.ts';

export const requirement: Requirement = {
  number: 'R-31',
  title: 'No name leads a webhook to an address that is not public',
  async run({ isQuick, seed, report }) {
    const sends = isQuick ? 1_000 : 10_000;
    const flips = await sendThroughFlips({ sends, seed });
    const { acknowledged, blocked, unresolved, lookups } = flips;
    report.claim(
      'no connection is begun to an address that is not public, and none arrives at one',
      `${flips.attempted.length} begun and ${flips.arrivedAt.length} arrived, of ${sends.toLocaleString('en')} sends with ${lookups.toLocaleString('en')} lookups`,
      [
        ...flips.attempted.map((address) => `a connection to ${address} was begun`),
        ...flips.arrivedAt.map((address) => `a connection arrived at ${address}`),
        ...(lookups < sends ? [`the name was looked up ${lookups} times only`] : []),
      ],
    );
    const kinds = { acknowledged, blocked, unresolved };
    report.claim(
      `the answers did change: ${privateAddresses.length} addresses, alone, mixed and behind aliases, and none at all`,
      `${acknowledged} acknowledged, ${blocked} blocked, ${unresolved} without an address`,
      [
        ...Object.entries(kinds).flatMap(([kind, count]) => (count === 0 ? [`none was ${kind}`] : [])),
        ...flips.others.map((word) => `a send ended with ${word}`),
        ...(acknowledged + blocked + unresolved === sends ? [] : ['not every send came to its end']),
        ...(flips.received === acknowledged ? [] : [`the receiver had ${flips.received} requests`]),
      ],
    );
  },
};
