// The area Identify: the secret with which an app's own server proves whose a device is.

import type { Sql } from '@carillon/postgres';
import { z } from 'zod';
import { invalid } from '../../ground/http/api-error.ts';
import { ok } from '../../ground/http/route.ts';
import { component, exampleOf, instant } from '../../ground/http/schemas.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { getIdentifyRecord, type SeenIdentifyRecord } from '../../teams/apps/identify-queries.ts';
import { formsOf, secretForms } from '../../teams/apps/identify-record.ts';
import { finishIdentifyRotation, rotateIdentifySecret, setIdentify } from '../../teams/apps/identify-secrets.ts';
import { routesOfApp } from './area.ts';
import { checkSeen, seenAt } from './schemas.ts';

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
const identify = component('Identify', z.strictObject(fields), {
  enabled: true,
  require_device: false,
  secrets: 1,
  forms: ['token' as const],
  updated_at: '2026-11-21T10:15:30.123Z',
});
const made = component(
  'MadeIdentify',
  z.strictObject({ ...fields, secret: z.string().nullable().describe('A new secret, shown this once.') }),
  { ...exampleOf(identify), secret: 'idjwt_…' },
);

const route = routesOfApp('Identify');

export const identifyRoutes = [
  route('getIdentify', 'GET /identify', {
    least: 'viewer',
    summary: 'Read the proof that the app demands from an identify',
    answers: ok('The settings, without a secret.', identify),
  }).handle(async ({ sql }, { caller }) => read(sql, caller.app.id)),
  route('setIdentify', 'PUT /identify', {
    least: 'admin',
    summary: 'Demand a proof, one that names the device, or none',
    description:
      'Turning it on makes the first secret, of the form `token`; turning it off erases the secrets. `require_device` needs a token secret.',
    body: component(
      'IdentifyEdit',
      z.strictObject({ enabled: z.boolean(), require_device: z.boolean().default(false), updated_at: seenAt }),
      { enabled: true, require_device: false, updated_at: '2026-11-21T10:15:30.123Z' },
    ),
    answers: ok('The settings.', made),
    refusals: ['changed_meanwhile'],
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
  route('rotateIdentify', 'POST /identify/rotate', {
    least: 'admin',
    summary: 'Make a secret; with one there already both are valid until the rotation is finished',
    body: component('IdentifyRotation', z.strictObject({ form: z.enum(secretForms).default('token') }), {
      form: 'token',
    }),
    answers: ok('The new secret, shown this once.', made),
  }).handle(async ({ sql, txSql, clock, seal }, { caller, body }) => {
    const rotated = await rotateIdentifySecret({ sql: txSql, clock, seal, by: caller.by }, caller.app.id, body);
    return { ...(await read(sql, caller.app.id)), secret: rotated.secret };
  }),
  route('finishIdentify', 'POST /identify/rotate/finish', {
    least: 'admin',
    summary: 'Let the new secret alone prove',
    answers: ok('The settings.', identify),
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
