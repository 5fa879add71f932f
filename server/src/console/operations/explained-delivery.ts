// Deliveries and counts of failures as the console shows them: each code with its meaning and the
// next step, so that no page keeps a table of its own.
import { z } from 'zod';
import { component, count, exampleOf } from '../../ground/http/schemas.ts';
import { codeMeaning, meaningOf } from '../../sending/delivery/code-meaning.ts';
import { deliveryCode } from '../../sending/delivery/delivery.ts';
import type { presentDeliveries } from '../../sending/delivery/list-timeline.ts';
import { delivery } from '../../sending/messages/delivery-routes.ts';
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
