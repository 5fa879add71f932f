// The area Identify: the secret with which an app's own server proves whose a device is.
import { z } from 'zod';
import { getIdentifyRecord, type SeenIdentifyRecord } from '../apps/identify-queries.ts';
import { formsOf, secretForms } from '../apps/identify-record.ts';
import { finishIdentifyRotation, rotateIdentifySecret, setIdentify } from '../apps/identify-secrets.ts';
import type { Clock } from '../database/clock.ts';
import type { Sql } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';
import type { Seal } from '../ground/seal.ts';
import { invalid } from '../http/api-error.ts';
import { routesWith } from '../http/route.ts';
import { component, instant } from '../http/schemas.ts';
import type { AppCaller } from './caller.ts';
import { appParam, checkSeen, seenAt } from './schemas.ts';

export interface IdentifyAreaDeps {
  readonly sql: Sql;
  readonly txSql: Sql;
  readonly clock: Clock;
  readonly seal: Seal;
}

const fields = {
  enabled: z.boolean().describe('False: anybody may link a device to any user. Show a warning.'),
  require_device: z.boolean().describe('True: only a token that names its device is accepted.'),
  secrets: z.int().min(0).max(2).describe('Two while a rotation is not finished.'),
  forms: z
    .array(z.enum(secretForms))
    .max(2)
    .describe('The form of each secret, the former one first. With `require_device` and no `token`, identify is 403.'),
  updated_at: instant.describe('The last edit of the app, which contains these settings.'),
};
const identify = component('Identify', z.strictObject(fields));
const made = component(
  'MadeIdentify',
  z.strictObject({ ...fields, secret: z.string().nullable().describe('A new secret, shown this once.') }),
);
const example = {
  enabled: true,
  require_device: false,
  secrets: 1,
  forms: ['token' as const],
  updated_at: '2026-11-21T10:15:30.123Z',
};

const route = routesWith<IdentifyAreaDeps, AppCaller>('Identify');

export const identifyRoutes = [
  route({
    id: 'getIdentify',
    method: 'GET',
    path: '/console/api/apps/:app/identify',
    access: 'session-or-token',
    least: 'viewer',
    summary: 'Read the proof that the app demands from an identify',
    params: appParam,
    answers: { 200: { description: 'The settings, without a secret.', schema: identify, example } },
    refusals: ['not_found'],
  }).handle(async ({ sql }, { caller }) => read(sql, caller.app.id)),
  route({
    id: 'setIdentify',
    method: 'PUT',
    path: '/console/api/apps/:app/identify',
    access: 'session-or-token',
    least: 'admin',
    summary: 'Demand a proof, one that names the device, or none',
    description:
      'Turning it on makes the first secret, of the form `token`; turning it off erases the secrets. `require_device` needs a token secret.',
    params: appParam,
    body: {
      schema: component(
        'IdentifyEdit',
        z.strictObject({ enabled: z.boolean(), require_device: z.boolean().default(false), updated_at: seenAt }),
      ),
      example: { enabled: true, require_device: false, updated_at: '2026-11-21T10:15:30.123Z' },
    },
    answers: {
      200: { description: 'The settings.', schema: made, example: { ...example, secret: 'idjwt_…' } },
    },
    refusals: ['not_found', 'changed_meanwhile'],
  }).handle(async ({ sql, txSql, clock, seal }, { caller, body }) => {
    const deps = { sql: txSql, clock, seal, by: caller.by };
    const { id } = caller.app;
    if (!body.enabled && body.require_device) {
      const message = 'A proof is demanded only where it is enabled.';
      throw invalid([{ path: ['require_device'], code: 'invalid_value', message }]);
    }
    const secret = await setIdentify(deps, id, {
      isEnabled: body.enabled,
      isDeviceRequired: body.require_device,
      check: (former) => checkSeen(body.updated_at, former.updatedAt, () => present(former)),
    });
    return { ...(await read(sql, id)), secret };
  }),
  route({
    id: 'rotateIdentify',
    method: 'POST',
    path: '/console/api/apps/:app/identify/rotate',
    access: 'session-or-token',
    least: 'admin',
    summary: 'Make a secret; with one there already both are valid until the rotation is finished',
    params: appParam,
    body: {
      schema: component('IdentifyRotation', z.strictObject({ form: z.enum(secretForms).default('token') })),
      example: { form: 'token' },
    },
    answers: {
      200: {
        description: 'The new secret, shown this once.',
        schema: made,
        example: { ...example, secret: 'idjwt_…' },
      },
    },
    refusals: ['not_found'],
  }).handle(async ({ sql, txSql, clock, seal }, { caller, body }) => {
    const rotated = await rotateIdentifySecret({ sql: txSql, clock, seal, by: caller.by }, caller.app.id, body);
    return { ...(await read(sql, caller.app.id)), secret: rotated.secret };
  }),
  route({
    id: 'finishIdentify',
    method: 'POST',
    path: '/console/api/apps/:app/identify/rotate/finish',
    access: 'session-or-token',
    least: 'admin',
    summary: 'Let the new secret alone prove',
    params: appParam,
    answers: { 200: { description: 'The settings.', schema: identify, example } },
    refusals: ['not_found'],
  }).handle(async ({ sql, txSql, clock }, { caller }) => {
    if (!(await finishIdentifyRotation({ sql: txSql, clock, by: caller.by }, caller.app.id))) {
      throw invalid([{ path: [], code: 'invalid_value', message: 'No new secret is pending.' }]);
    }
    return read(sql, caller.app.id);
  }),
];

async function read(sql: Sql, appId: Uuid) {
  return present(await getIdentifyRecord(sql, appId));
}

function present(record: SeenIdentifyRecord) {
  const forms = formsOf(record);
  return {
    enabled: forms.length > 0,
    require_device: record.isDeviceRequired,
    secrets: forms.length,
    forms,
    updated_at: record.updatedAt,
  };
}
