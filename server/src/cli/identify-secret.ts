// `identify-secret …`: the secrets with which an app's own server proves whose a device is. A
// secret is printed once, by the command that makes it.

import type { Command } from 'commander';
import { getIdentifyRecord } from '../apps/identify-queries.ts';
import {
  clearIdentifySecrets,
  finishIdentifyRotation,
  requireBoundIdentify,
  rotateIdentifySecret,
} from '../apps/identify-secrets.ts';
import type { App } from '../apps/queries.ts';
import type { Sql } from '../database/db.ts';
import { encodeId } from '../ground/ids.ts';
import { programName } from '../ground/program-name.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { type Answer, type AnswerOptions, answer, printable, withJson } from './answer.ts';
import { CommandError } from './command-error.ts';
import { type CommandContext, withDatabase } from './context.ts';
import { getApp } from './find-app.ts';

export function addIdentifySecretCommands(program: Command): void {
  const identify = program.command('identify-secret').description('the secret that proves the user of a device');
  withJson(identify.command('rotate <APP>'))
    .description('make a secret; with one there already both are valid until the rotation is finished')
    .action((app: string, options: AnswerOptions) => answer(options, () => rotate(app)));
  withJson(identify.command('finish <APP>'))
    .description('end the rotation: erase the former secret, so that only the new one proves')
    .action((app: string, options: AnswerOptions) => answer(options, () => finish(app)));
  withJson(identify.command('clear <APP>'))
    .description('erase the secrets: identify needs no proof again')
    .action((app: string, options: AnswerOptions) => answer(options, () => clear(app)));
  withJson(identify.command('require-bound <APP> <on|off>'))
    .description('accept only proofs that are made for one device and one day')
    .action((app: string, word: string, options: AnswerOptions) => answer(options, () => requireBound(app, word)));
}

const howToMake = (app: App): string =>
  `make one with: ${programName} identify-secret rotate ${encodeId('app', app.id)}`;

async function rotate(name: string): Promise<Answer> {
  return withApp(name, async (app, context) => {
    const { sql, loadSeal } = context;
    const made = await rotateIdentifySecret({ ...context, seal: await loadSeal() }, app.id);
    const finish = `${programName} identify-secret finish ${encodeId('app', app.id)}`;
    const lines = [
      `  secret  ${made.secret}`,
      '',
      made.isRotation
        ? `The secret is shown this once. The former one is valid beside it until: ${finish}`
        : 'The secret is shown this once. From now on identify needs a user_hash made with it.',
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
      text: 'The secret is erased: identify needs no user_hash.',
    };
  });
}

async function requireBound(name: string, word: string): Promise<Answer> {
  if (word !== 'on' && word !== 'off') throw new CommandError(`Say on or off, not '${printable(word)}'.`);
  const isRequired = word === 'on';
  return withApp(name, async (app, context) => {
    if (!(await requireBoundIdentify(context, app.id, isRequired))) {
      throw new CommandError(`There is no secret that a proof could be made with; ${howToMake(app)}`);
    }
    return {
      document: await present(context.sql, app),
      text: isRequired ? 'Only the bound form of user_hash is accepted.' : 'Both forms of user_hash are accepted.',
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
  const { secret, nextSecret, isBoundRequired } = await getIdentifyRecord(sql, app.id);
  return {
    app_id: encodeId('app', app.id),
    identify_required: secret !== null,
    identify_bound_required: isBoundRequired,
    secrets: [secret, nextSecret].filter((each) => each !== null).length,
  };
}
