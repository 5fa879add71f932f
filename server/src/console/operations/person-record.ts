// Reads all data about one person, page by page: devices with their history, events, deliveries and
// attributions. Events and deliveries of a device from the time when it had no user count as the
// person's own, so the person may read them.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import {
  listEventNames,
  listSubjectDays,
  listSubjectEvents,
  type SubjectDay,
} from '../../insight/events/history-queries.ts';
import { listAttributionsOfUser } from '../../insight/reports/attribution-queries.ts';
import { listDeviceChanges } from '../../people/devices/history-queries.ts';
import { listDevicePage, presentListed } from '../../people/devices/list-devices.ts';
import { listIdentifiedAt } from '../../people/devices/queries.ts';
import { createAnswerForms } from '../../sending/delivery/answer-forms.ts';
import { presentDeliveries } from '../../sending/delivery/list-timeline.ts';
import { findBatches, listDeliveriesOfPerson } from '../../sending/delivery/timeline-queries.ts';

export interface RecordDeps {
  readonly sql: Sql;
  readonly clock: Clock;
}

const rowsAtOnce = 500;

type Pages = AsyncGenerator<object[]>;

/**
 * The person's devices, each with every change of its state. Adds their ids to `deviceIds` while it
 * reads.
 */
export async function* devicesOf({ sql }: RecordDeps, appId: Uuid, externalId: string, deviceIds: Uuid[]): Pages {
  const filters = { platform: null, status: null, externalId };
  let after: { createdAt: Date; id: Uuid } | null = null;
  for (;;) {
    const page = await listDevicePage(sql, appId, filters, after, rowsAtOnce);
    const ids = page.map(({ id }) => id);
    const changes = await listDeviceChanges(sql, appId, ids);
    const since = await listIdentifiedAt(sql, appId, ids);
    deviceIds.push(...ids);
    yield page.map((device) => ({
      ...presentListed(device),
      identified_at: since.get(device.id) ?? null,
      changes: changes
        .filter(({ deviceId }) => deviceId === device.id)
        .map(({ at, status, reason }) => ({ at, status, reason })),
    }));
    const last = page.at(-1);
    if (last === undefined || page.length < rowsAtOnce) return;
    after = { createdAt: last.createdAt, id: last.id };
  }
}

/** Names for one statement, which looks up every name for every subject and month. */
const namesAtOnce = 20;

/** The events of these subjects, day by day. */
export async function* eventsOf({ sql }: RecordDeps, appId: Uuid, subjectIds: readonly Uuid[]): Pages {
  const days: SubjectDay[] = [];
  for (let after = ''; ; ) {
    const names = await listEventNames(sql, appId, after, namesAtOnce);
    days.push(...(await listSubjectDays(sql, appId, names, subjectIds)));
    const last = names.at(-1);
    if (last === undefined || names.length < namesAtOnce) break;
    after = last;
  }
  days.sort((a, b) => (a.day === b.day ? 0 : a.day < b.day ? -1 : 1));
  for (const { name, day } of days) {
    let afterId: Uuid | null = null;
    for (;;) {
      const page = await listSubjectEvents(sql, { appId, name, day }, subjectIds, afterId, rowsAtOnce);
      yield page.map(({ at, deviceId, externalId, properties }) => ({
        name,
        occurred_at: at,
        device_id: deviceId === null ? null : encodeId('dev', deviceId),
        external_id: externalId,
        properties,
      }));
      const last = page.at(-1);
      if (last === undefined || page.length < rowsAtOnce) break;
      afterId = last.id;
    }
  }
}

/**
 * The deliveries to these people (users, and devices while they had no user), each with its
 * timeline.
 */
export async function* deliveriesOf({ sql, clock }: RecordDeps, appId: Uuid, personIds: readonly Uuid[]): Pages {
  const deps = { sql, clock, forms: createAnswerForms({ sql }) };
  for (const personId of personIds) {
    let after: { batchId: Uuid; deviceId: Uuid } | null = null;
    for (;;) {
      const rows = await listDeliveriesOfPerson(sql, personId, after, rowsAtOnce);
      const batches = await findBatches(sql, appId, [...new Set(rows.map(({ batchId }) => batchId))]);
      const placed = rows.flatMap((row) => {
        const batch = batches.get(row.batchId);
        return batch ? [{ row, batch }] : [];
      });
      const shown = await presentDeliveries(deps, appId, placed);
      yield shown.map((delivery, i) => ({
        message_id: encodeId('msg', placed[i]?.batch.messageId ?? ''),
        ...delivery,
      }));
      const last = rows.at(-1);
      if (last === undefined || rows.length < rowsAtOnce) break;
      after = { batchId: last.batchId, deviceId: last.deviceId };
    }
  }
}

/** The attributions of the user's purchases, as far as they are settled. */
export async function* attributionsOf({ sql }: RecordDeps, appId: Uuid, userId: Uuid): Pages {
  let afterId: Uuid | null = null;
  for (;;) {
    const page = await listAttributionsOfUser(sql, appId, userId, afterId, rowsAtOnce);
    yield page.map(({ at, currency, amount, windowHours, class: className, messageId }) => ({
      occurred_at: at,
      currency,
      amount,
      class: className,
      message_id: messageId === null ? null : encodeId('msg', messageId),
      window_hours: windowHours,
    }));
    const last = page.at(-1);
    if (last === undefined || page.length < rowsAtOnce) return;
    afterId = last.eventId;
  }
}
