// GET /v1/explain: why did this person, or this device, get this message or not (contract 5.22).
import { z } from 'zod';
import { ok, routesWith } from '../../ground/http/route.ts';
import { component, count, deviceId, messageId, text } from '../../ground/http/schemas.ts';
import { validate } from '../../ground/http/validate.ts';
import { encodeId } from '../../ground/values/ids.ts';
import { issueOf } from '../../ground/values/issue.ts';
import { deviceStatuses } from '../../people/devices/device.ts';
import { platforms } from '../../sending/channels/channel.ts';
import { deliveryCode } from '../../sending/delivery/delivery.ts';
import type { Caller } from '../../teams/apps/caller.ts';
import {
  devicesMax,
  type ExplainDeps,
  type ExplainedCase,
  type ExplainedOne,
  type Explanation,
  explainMessage,
  newestDays,
  newestMax,
} from './explain-message.ts';
import { step } from './step.ts';
import { firstByVerdict, verdicts } from './verdict.ts';

const exampleId = 'msg_02y9GVDsTuJUi2BOoCH5G3';
const verdict = component('Verdict', z.enum(verdicts));
const explainedDevice = component(
  'ExplainedDevice',
  z.strictObject({
    device_id: deviceId,
    platform: z.enum(platforms),
    status: z.enum(deviceStatuses).describe('Its status now.'),
    verdict,
    error_code: deliveryCode.nullable(),
    attempts: count,
  }),
);
const devices = z
  .array(explainedDevice)
  .describe(`The person's devices, ${devicesMax} at most, and those that got it.`);
const summary = z.string().describe('In words, for people. May change.');
const explainedMessage = component(
  'ExplainedMessage',
  z.strictObject({ message_id: messageId, verdict, summary, steps: z.array(step), devices }),
);
export const explanation = component(
  'Explanation',
  z.strictObject({
    message_id: messageId.nullable(),
    external_id: z.string().nullable(),
    device_id: deviceId.nullable(),
    verdict: verdict.describe('For a person: the first verdict, in the order of this list, of one of their devices.'),
    summary,
    steps: z.array(step).optional().describe('In order, up to the first that is not ok. With `message_id`.'),
    messages: z
      .array(explainedMessage)
      .max(newestMax)
      .optional()
      .describe(`Without \`message_id\`: the newest ${newestMax} messages within ${newestDays} days.`),
    devices,
  }),
  {
    message_id: exampleId,
    external_id: 'u-42',
    device_id: null,
    verdict: 'not_in_audience',
    summary:
      'u-42 is not in the audience: country is FR, the filter asks for DE. The values are those of now, and may have changed since the message.',
    steps: [
      { step: 'user', ok: true, detail: { created_at: '2026-10-02T08:00:00.000Z' } },
      { step: 'devices', ok: true, detail: { active: 1, invalid: 1, unsubscribed: 0 } },
      {
        step: 'audience',
        ok: false,
        detail: {
          path: ['audience', 'filter', 'and', 0],
          field: 'country',
          op: 'eq',
          value: 'DE',
          actual: 'FR',
          as_of: 'now',
        },
      },
    ],
    devices: [
      {
        device_id: 'dev_4r4tgBwaHmRyQNukgzmqsi',
        platform: 'android',
        status: 'active',
        verdict: 'not_in_audience',
        error_code: null,
        attempts: 0,
      },
    ],
  },
);

const subjects = ['external_id', 'device_id'] as const;

export const explainQuery = z.strictObject({
  message_id: z.string().optional(),
  external_id: text(256, 1).optional(),
  device_id: z.string().optional(),
});

export type ExplainQuery = z.output<typeof explainQuery>;

const checkedQuery = explainQuery.superRefine((given, context) => {
  if (subjects.filter((name) => given[name] !== undefined).length === 1) return;
  const message = `Name exactly one of ${subjects.join(' and ')}.`;
  context.issues.push(issueOf({ path: [], code: 'exactly_one_required', message, allowed: subjects }, given));
});

/**
 * Answers the question of a checked query. Throws the 404 for a message or device that is unknown.
 */
export async function answerExplain(deps: ExplainDeps, appId: string, query: ExplainQuery) {
  const { message_id = null, external_id, device_id } = query;
  const subject = external_id === undefined ? { deviceId: device_id ?? '' } : { externalId: external_id };
  const explained = await explainMessage(deps, { appId, messageId: message_id, subject });
  return {
    message_id,
    external_id: external_id ?? null,
    device_id: device_id ?? null,
    ...presentExplanation(explained),
  };
}

/** An explanation as the API shows it, without the ids of the question. */
export function presentExplanation({ who, isOfOne, messages, without }: Explanation) {
  const [first] = messages;
  if (isOfOne && first) {
    const { verdict, summary, steps, cases } = first;
    return { verdict, summary, steps, devices: cases.map(presentCase) };
  }
  const best = firstByVerdict(messages);
  const reached = messages.filter(({ verdict }) => ['clicked', 'displayed', 'sent'].includes(verdict)).length;
  return {
    verdict: best?.verdict ?? without.verdict,
    summary: best ? `${who.name} got ${reached} of the newest ${messages.length} messages.` : without.summary,
    messages: messages.map((one) => ({ message_id: encodeId('msg', one.message.id), ...presentOne(one) })),
    devices: bestOfDevices(messages).map(presentCase),
  };
}

function presentOne({ verdict, summary, steps, cases }: ExplainedOne) {
  return { verdict, summary, steps, devices: cases.map(presentCase) };
}

/** Each device once, with the case that has its first verdict. */
function bestOfDevices(messages: readonly ExplainedOne[]): ExplainedCase[] {
  const [first] = messages;
  return (first?.cases ?? []).map((one, i) => firstByVerdict(messages.flatMap(({ cases }) => cases[i] ?? [])) ?? one);
}

function presentCase({ device, verdict, errorCode, attempts }: ExplainedCase) {
  return {
    device_id: encodeId('dev', device.id),
    platform: device.platform,
    status: device.status,
    verdict,
    error_code: errorCode,
    attempts,
  };
}

const route = routesWith<ExplainDeps, Caller>({ tag: 'Messages', access: 'server' });

export const explainRoutes = [
  route('explain', 'GET /v1/explain', {
    summary: 'Why did this person, or this device, get a message or not?',
    description:
      'Name exactly one of `external_id` and `device_id`. A stored delivery decides. Without one, audience and exclusion are checked against the present data, and `as_of` says so. The answer names the leaf of the filter that decides: the first false one of an AND, the last one of an OR. An unknown user is an answer; an unknown message or device is 404.',
    query: explainQuery,
    readQuery: (given) => validate(checkedQuery, given),
    answers: ok('The explanation.', explanation),
    refusals: ['not_found'],
  }).handle((deps, { caller, query }) => answerExplain(deps, caller.appId, query)),
];
