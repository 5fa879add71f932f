// Explains why a person or a device got messages or not (contract 5.22). It takes a few statements.
// Each starts at the person, so the cost does not grow with the audience.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { findPause } from '../../ground/database/restore-guard.ts';
import { noSuch, readId } from '../../ground/http/api-error.ts';
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import { listDeviceIdsOfUser } from '../../people/audience/queries.ts';
import { channelOfPlatform } from '../../sending/channels/channel.ts';
import { findBatches } from '../../sending/delivery/timeline-queries.ts';
import { type CredentialRecord, listCredentials } from '../../teams/apps/credential-queries.ts';
import { askMembership } from './ask-membership.ts';
import {
  type CredentialState,
  type DeviceCase,
  type Found,
  type Judged,
  judgeDevice,
  type Subject,
} from './judge-device.ts';
import {
  countDevicesOfUser,
  type ExplainedDelivery,
  type ExplainedDevice,
  type ExplainedMessage,
  findExplained,
  findProfileOf,
  listDeliveriesOf,
  listDevicesById,
  listDevicesOfUser,
  listFormerUsers,
  listNewest,
  listOpenPlaces,
  type OpenPlace,
} from './queries.ts';
import { type Named, summarize } from './summary.ts';
import { firstByVerdict, type Verdict } from './verdict.ts';

export interface ExplainDeps {
  readonly sql: Sql;
  readonly clock: Clock;
}

export interface ExplainQuestion {
  readonly appId: Uuid;
  /** As the caller wrote it. Null: the newest messages of the app. */
  readonly messageId: string | null;
  readonly subject: { readonly externalId: string } | { readonly deviceId: string };
}

export interface ExplainedCase extends Judged {
  readonly device: ExplainedDevice;
}

/** The result of one message for all devices of the question. */
export interface ExplainedOne {
  readonly message: ExplainedMessage;
  readonly verdict: Verdict;
  readonly summary: string;
  readonly steps: Judged['steps'];
  readonly cases: readonly ExplainedCase[];
}

export interface Explanation {
  readonly who: Named;
  readonly isOfOne: boolean;
  readonly messages: readonly ExplainedOne[];
  /** The result where there is no message at all. */
  readonly without: { readonly verdict: Verdict; readonly summary: string };
}

/** The messages that are explained when none is named: their number, and their greatest age. */
export const newestMax = 20;
export const newestDays = 30;
/** Devices of a person that an answer shows: as many as may be active. */
export const devicesMax = 100;

/** The user or device of the question, with the devices concerned. */
interface Person {
  readonly who: Named;
  readonly subject: Subject;
  readonly devices: readonly ExplainedDevice[];
  /** The ids of users that the stored deliveries name. */
  readonly people: readonly Uuid[];
  /** The users and devices whose events count. */
  readonly subjects: readonly Uuid[];
  /** Set when the question names a device: the deliveries of others do not count. */
  readonly onlyDeviceId: Uuid | null;
}

/** Throws the 404 for a message or a device that the app does not have. */
export async function explainMessage(deps: ExplainDeps, question: ExplainQuestion): Promise<Explanation> {
  const { appId, messageId } = question;
  const messages = await readMessages(deps, appId, messageId);
  const person = await readPerson(deps, question);
  const found = await findDeliveries(deps, appId, messages, person);
  const devices = found.devices;
  const unknown = messages.map((message) => ({
    message,
    devices: devices.filter(
      (device) => device.status === 'active' && message.startedAt !== null && !found.of(message.id, device.id),
    ),
  }));
  const wanted = unknown.filter((each) => each.devices.length > 0);
  const { subjects } = person;
  const asked = wanted.length === 0 ? null : await askMembership(deps, { appId, wanted, subjects });
  const credentials = await listCredentials(deps.sql, appId);

  const caseOf = (message: ExplainedMessage, device: ExplainedDevice): DeviceCase => ({
    device,
    found: found.of(message.id, device.id) ?? {
      kind: 'none',
      asked:
        asked && unknown.some((each) => each.message === message && each.devices.includes(device))
          ? asked(message, device)
          : null,
    },
    credential: stateOfCredential(credentials, device),
    nowMs: deps.clock.nowMs(),
  });
  const { who, subject } = person;
  const judge = (message: ExplainedMessage): ExplainedOne => {
    const cases = devices.map((device) => ({ device, ...judgeDevice(message, subject, caseOf(message, device)) }));
    const nobody: DeviceCase = { device: null, found: { kind: 'none', asked: null }, credential: 'ok', nowMs: 0 };
    const { verdict, steps } = firstByVerdict(cases) ?? judgeDevice(message, subject, nobody);
    return { message, verdict, summary: summarize(who, verdict, steps), steps, cases };
  };
  return {
    who,
    isOfOne: messageId !== null,
    messages: messages.map(judge),
    without: withoutMessages(person),
  };
}

async function readMessages(deps: ExplainDeps, appId: Uuid, messageId: string | null): Promise<ExplainedMessage[]> {
  if (messageId === null) return listNewest(deps, appId, newestDays, newestMax);
  const message = await findExplained(deps.sql, appId, readId('message', messageId));
  if (!message) throw noSuch('message', messageId);
  return [message];
}

async function readPerson({ sql }: ExplainDeps, { appId, subject }: ExplainQuestion): Promise<Person> {
  if ('deviceId' in subject) {
    const [device] = await listDevicesById(sql, appId, [readId('device', subject.deviceId)]);
    if (!device) throw noSuch('device', subject.deviceId);
    const { userId, externalId, status, statusReason, userCreatedAt } = device;
    const owner = userId === null ? [] : [userId];
    const family = externalId === null ? [device.id] : await listDeviceIdsOfUser(sql, appId, externalId);
    return {
      who: { name: `Device ${encodeId('dev', device.id)}`, isDevice: true },
      subject: {
        user: { external_id: externalId, created_at: userCreatedAt },
        isKnownUser: true,
        devices: { status, status_reason: statusReason },
        hasActiveDevice: status === 'active',
      },
      devices: [device],
      people: [device.id, ...owner, ...(await listFormerUsers(sql, appId, device.id))],
      subjects: [...owner, ...family],
      onlyDeviceId: device.id,
    };
  }
  const { externalId } = subject;
  const user = await findProfileOf(sql, appId, externalId);
  const counts = await countDevicesOfUser(sql, appId, externalId);
  const devices = await listDevicesOfUser(sql, appId, externalId, devicesMax);
  const ids =
    devices.length < devicesMax ? devices.map(({ id }) => id) : await listDeviceIdsOfUser(sql, appId, externalId);
  const people = user ? [user.id, ...ids] : ids;
  return {
    who: { name: externalId, isDevice: false },
    subject: {
      user: { created_at: user?.createdAt ?? null },
      isKnownUser: user !== undefined,
      devices: counts,
      hasActiveDevice: counts.active > 0,
    },
    devices,
    people,
    subjects: people,
    onlyDeviceId: null,
  };
}

interface FoundDeliveries {
  /** The person's devices, and those that were theirs when they got a delivery. */
  readonly devices: readonly ExplainedDevice[];
  of(messageId: Uuid, deviceId: Uuid): Found | undefined;
}

async function findDeliveries(
  { sql }: ExplainDeps,
  appId: Uuid,
  messages: readonly ExplainedMessage[],
  { people, devices, onlyDeviceId }: Person,
): Promise<FoundDeliveries> {
  const found = new Map<string, Found>();
  const nameOf = (messageId: Uuid, deviceId: Uuid): string => `${messageId} ${deviceId}`;
  const ids = devices.map(({ id }) => id);
  // The batches are read first: a batch that ends meanwhile leaves a delivery, which is read next.
  const places: (OpenPlace & { readonly messageId: Uuid })[] = [];
  for (const { id, status } of messages) {
    if (ids.length === 0 || (status !== 'sending' && status !== 'canceled')) continue;
    for (const place of await listOpenPlaces(sql, appId, id, ids)) places.push({ ...place, messageId: id });
  }
  const pausedAt = places.length === 0 ? null : ((await findPause(sql))?.at ?? null);
  for (const place of places) found.set(nameOf(place.messageId, place.deviceId), { kind: 'open', place, pausedAt });

  const deliveries = await readDeliveries(sql, messages, people, onlyDeviceId);
  const batches = deliveries.length === 0 ? new Map() : await findBatches(sql, appId, batchIdsOf(deliveries));
  const asked = new Set(messages.map(({ id }) => id));
  const strangers = new Set<Uuid>();
  for (const delivery of deliveries) {
    const batch = batches.get(delivery.batchId);
    if (!batch || !asked.has(batch.messageId)) continue;
    const { queuedAt, messageId } = batch;
    found.set(nameOf(messageId, delivery.deviceId), { kind: 'delivery', delivery: { ...delivery, queuedAt } });
    if (!ids.includes(delivery.deviceId)) strangers.add(delivery.deviceId);
  }
  const former = strangers.size === 0 ? [] : await listDevicesById(sql, appId, [...strangers]);
  return { devices: [...devices, ...former], of: (messageId, deviceId) => found.get(nameOf(messageId, deviceId)) };
}

function batchIdsOf(deliveries: readonly ExplainedDelivery[]): Uuid[] {
  return [...new Set(deliveries.map(({ batchId }) => batchId))];
}

async function readDeliveries(
  sql: Sql,
  messages: readonly ExplainedMessage[],
  people: readonly Uuid[],
  onlyDeviceId: Uuid | null,
): Promise<ExplainedDelivery[]> {
  const firsts = messages.flatMap(({ firstBatchId }) => firstBatchId ?? []).sort();
  const lasts = messages.flatMap(({ lastBatchId }) => lastBatchId ?? []).sort();
  const [firstBatchId, lastBatchId] = [firsts[0], lasts.at(-1)];
  if (firstBatchId === undefined || lastBatchId === undefined || people.length === 0) return [];
  return listDeliveriesOf(sql, people, { firstBatchId, lastBatchId }, onlyDeviceId);
}

/**
 * The state of the credential that reaches a device. A browser belongs to the key with which it
 * subscribed; any other device uses the channel's current credential.
 */
function stateOfCredential(credentials: readonly CredentialRecord[], device: ExplainedDevice): CredentialState {
  const channel = channelOfPlatform[device.platform];
  const current = credentials.find((each) => each.channel === channel && each.replacedAt === null);
  if (!current) return 'missing';
  const own = channel === 'webpush' && credentials.find(({ id }) => id === device.credentialId);
  return (own || current).state;
}

function withoutMessages({ who, subject }: Person): Explanation['without'] {
  const user = { step: 'user', ok: subject.isKnownUser, detail: subject.user } as const;
  if (!subject.isKnownUser) return { verdict: 'unknown_user', summary: summarize(who, 'unknown_user', [user]) };
  const devices = { step: 'devices', ok: false, detail: subject.devices } as const;
  if (!subject.hasActiveDevice) {
    return { verdict: 'no_active_device', summary: summarize(who, 'no_active_device', [user, devices]) };
  }
  const summary = `No message of the last ${newestDays} days was for anybody.`;
  return { verdict: 'not_in_audience', summary };
}
