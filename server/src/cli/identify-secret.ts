// `identify-secret …`: the secrets with which an app's own server proves whose a device is. A
// secret is printed once, by the command that makes it.

import { type Command, Option } from 'commander';
import { getIdentifyRecord } from '../apps/identify-queries.ts';
import { formsOf, type SecretForm, secretForms } from '../apps/identify-record.ts';
import { clearIdentifySecrets, finishIdentifyRotation, rotateIdentifySecret } from '../apps/identify-secrets.ts';
import type { App } from '../apps/queries.ts';
import type { Sql } from '../database/db.ts';
import { encodeId } from '../ground/ids.ts';
import { programName } from '../ground/program-name.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { type Answer, type AnswerOptions, answer, withJson } from './answer.ts';
import { CommandError } from './command-error.ts';
import { type CommandContext, withDatabase } from './context.ts';
import { getApp } from './find-app.ts';

export function addIdentifySecretCommands(program: Command): void {
  const identify = program.command('identify-secret').description('the secret that proves the user of a device');
  withJson(identify.command('rotate <APP>'))
    .description('make a secret; with one there already both are valid until the rotation is finished')
    .addOption(
      new Option('--form <FORM>', 'token: JSON Web Tokens; hash: for callers who cannot make tokens')
        .choices(secretForms)
        .default('token'),
    )
    .addOption(
      new Option('--require-device <WORD>', 'on: accept only tokens that name their device').choices(['on', 'off']),
    )
    .action((app: string, options: RotateOptions) => answer(options, () => rotate(app, options)));
  withJson(identify.command('finish <APP>'))
    .description('end the rotation: erase the former secret, so that only the new one proves')
    .action((app: string, options: AnswerOptions) => answer(options, () => finish(app)));
  withJson(identify.command('clear <APP>'))
    .description('erase the secrets: identify needs no proof again')
    .action((app: string, options: AnswerOptions) => answer(options, () => clear(app)));
}

interface RotateOptions extends AnswerOptions {
  readonly form: SecretForm;
  readonly requireDevice?: 'on' | 'off';
}

const proofOf: Readonly<Record<SecretForm, string>> = { token: 'user_token', hash: 'user_hash' };

async function rotate(name: string, { form, requireDevice }: RotateOptions): Promise<Answer> {
  return withApp(name, async (app, context) => {
    const { sql, loadSeal } = context;
    const wish = { form, isDeviceRequired: requireDevice && requireDevice === 'on' };
    const made = await rotateIdentifySecret({ ...context, seal: await loadSeal() }, app.id, wish);
    const { isDeviceRequired } = await getIdentifyRecord(sql, app.id);
    const finish = `${programName} identify-secret finish ${encodeId('app', app.id)}`;
    const lines = [
      `  secret  ${made.secret}`,
      '',
      made.isRotation
        ? `The secret is shown this once. The former one is valid beside it until: ${finish}`
        : `The secret is shown this once. From now on identify needs a ${proofOf[form]} made with it.`,
      ...(isDeviceRequired ? ['Only a user_token that names its device is accepted.'] : []),
      ...(made.hasReplacedNext
        ? ['It takes the place of the one from the rotation before, which was not finished.']
        : []),
    ];
    return { document: { ...(await present(sql, app)), secret: made.secret }, text: lines.join('\n') };
  });
}

async function finish(name: string): Promise<Answer> {
  return withApp(name, async (app, context) => {
    if (!(await finishIdentifyRotation(context, app.id))) throw new CommandError('No new secret is pending.');
    return {
      document: await present(context.sql, app),
      text: 'The new secret alone is valid; the former one is gone.',
    };
  });
}

async function clear(name: string): Promise<Answer> {
  return withApp(name, async (app, context) => {
    if (!(await clearIdentifySecrets(context, app.id))) throw new CommandError('There is no secret.');
    return {
      document: await present(context.sql, app),
      text: 'The secrets are erased: identify needs no proof.',
    };
  });
}

async function withApp(name: string, work: (app: App, context: CommandContext) => Promise<Answer>): Promise<Answer> {
  return withDatabase(loadCommandConfig(), async (context) => work(await getApp(context.sql, name), context));
}

/**
 * Presents the identify settings under the names of `GET /v1/config`, and the number of valid
 * secrets.
 */
async function present(sql: Sql, app: App): Promise<Record<string, unknown>> {
  const record = await getIdentifyRecord(sql, app.id);
  const forms = formsOf(record);
  return {
    app_id: encodeId('app', app.id),
    identify_required: forms.length > 0,
    identify_form: forms.at(-1) ?? null,
    identify_device_required: record.isDeviceRequired,
    secrets: forms.length,
  };
}
