// Deliveries and counts of failures as the console shows them: each code with its meaning and the
// next step, so that no page keeps a table of its own.
import { z } from 'zod';
import { codeMeaning, meaningOf } from '../delivery/code-meaning.ts';
import { deliveryCode } from '../delivery/delivery.ts';
import type { presentDeliveries } from '../delivery/list-timeline.ts';
import { component, count, exampleOf } from '../http/schemas.ts';
import { delivery } from '../messages/delivery-routes.ts';
import { hideable } from './hide-values.ts';

const explained = codeMeaning.nullable().describe('The meaning of `error_code`; null without one.');
export const explainedDelivery = component(
  'ExplainedDelivery',
  delivery.extend({ external_id: hideable('people.external_id', delivery.shape.external_id), explained }),
  { ...exampleOf(delivery), explained: null },
);

type Shown = Awaited<ReturnType<typeof presentDeliveries>>[number];

export function explainDelivery<Delivery extends Pick<Shown, 'error_code'>>(shown: Delivery) {
  return { ...shown, explained: shown.error_code === null ? null : meaningOf(shown.error_code) };
}

export const failures = z
  .array(component('FailureCount', codeMeaning.extend({ code: deliveryCode, count })))
  .describe('The codes of `error_counts`, the most frequent first.');

/** The counts of a message by code, the most frequent first. */
export function explainCounts(counts: Readonly<Record<string, number>>) {
  return deliveryCode.options
    .flatMap((code) => {
      const found = counts[code] ?? 0;
      return found > 0 ? [{ code, count: found, ...meaningOf(code) }] : [];
    })
    .sort((a, b) => b.count - a.count);
}
