// `owner …`: links that let a person into the console. A link is printed once and works once;
// Carillon sends no e-mail.
import type { Command } from 'commander';
import { createResetLink, createSetupLink, linkPath } from '../accounts/links.ts';
import { firstOrganisationId } from '../apps/queries.ts';
import type { Config } from '../config.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { type Answer, type AnswerOptions, answer, withJson } from './answer.ts';
import { withDatabase } from './context.ts';

export function addOwnerCommands(program: Command): void {
  const owner = program.command('owner').description('links that let a person into the console');
  withJson(owner.command('setup-link'))
    .description('print the link of the first owner; an earlier link stops working')
    .action((options: AnswerOptions) => answer(options, setupLink));
  withJson(owner.command('reset-password <EMAIL>'))
    .description('print a link that sets a new password, within an hour')
    .action((email: string, options: AnswerOptions) => answer(options, () => resetPassword(email)));
}

async function setupLink(): Promise<Answer> {
  const config = loadCommandConfig();
  return withDatabase(config, async (context) => {
    const { secret } = await createSetupLink(context, firstOrganisationId);
    return describe(config, linkPath('setup', secret), 'It makes the first owner, once.');
  });
}

async function resetPassword(email: string): Promise<Answer> {
  const config = loadCommandConfig();
  return withDatabase(config, async (context) => {
    const { secret } = await createResetLink(context, email);
    return describe(config, linkPath('reset', secret), 'It sets a new password, once and within an hour.');
  });
}

/** Without PUBLIC_URL the link is printed as a path. */
function describe({ publicUrl }: Config, path: string, what: string): Answer {
  const link = `${publicUrl ?? ''}${path}`;
  return { document: { link }, text: `  ${link}\n\n${what} The link is shown this once.` };
}
