// `owner …`: links that let a person into the console. A link is printed once and works once;
// Carillon sends no e-mail.
import { z } from 'zod';
import { createResetLink, createSetupLink, linkPath } from '../../teams/accounts/links.ts';
import { firstOrganisationId } from '../../teams/apps/queries.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import type { Answer } from './answer.ts';
import { command } from './command.ts';
import { type CommandContext, withDatabase } from './context.ts';

export const ownerCommands = [
  command({
    form: 'owner setup-link',
    help: 'print the link of the first owner; an earlier link stops working',
    input: z.strictObject({}),
    run: () =>
      printLink('setup', 'It makes the first owner, once.', (context) => createSetupLink(context, firstOrganisationId)),
  }),
  command({
    form: 'owner reset-password <EMAIL>',
    help: 'print a link that sets a new password, within an hour',
    input: z.strictObject({ email: z.string() }),
    run: ({ email }) =>
      printLink('reset', 'It sets a new password, once and within an hour.', (context) =>
        createResetLink(context, email),
      ),
  }),
];

async function printLink(
  kind: Parameters<typeof linkPath>[0],
  what: string,
  make: (context: CommandContext) => Promise<{ readonly secret: string }>,
): Promise<Answer> {
  const config = loadCommandConfig();
  const { secret } = await withDatabase(config, make);
  // Without PUBLIC_URL the link is printed as a path.
  const link = `${config.publicUrl ?? ''}${linkPath(kind, secret)}`;
  return { document: { link }, text: `  ${link}\n\n${what} The link is shown this once.` };
}
