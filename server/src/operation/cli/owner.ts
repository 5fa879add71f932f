// `owner …`: links that let a person into the console. A link is printed once and works once;
// Carillon sends no e-mail.
import { z } from 'zod';
import { createResetLink, createSetupLink, linkPath } from '../../teams/accounts/links.ts';
import { firstOrganisationId } from '../../teams/apps/queries.ts';
import type { Answer } from './answer.ts';
import type { CommandContext } from './context.ts';
import { databaseCommand } from './database-command.ts';

export const commands = [
  databaseCommand({
    form: 'owner setup-link',
    help: 'print the link of the first owner; an earlier link stops working',
    run: async (context) =>
      linkAnswer(
        context,
        'setup',
        await createSetupLink(context, firstOrganisationId),
        'It makes the first owner, once.',
      ),
  }),
  databaseCommand({
    form: 'owner reset-password <EMAIL>',
    help: 'print a link that sets a new password, within an hour',
    fields: { email: z.string() },
    async run(context, { email }) {
      const what = 'It sets a new password, once and within an hour.';
      return linkAnswer(context, 'reset', await createResetLink(context, email), what);
    },
  }),
];

function linkAnswer(
  { config }: CommandContext,
  kind: Parameters<typeof linkPath>[0],
  { secret }: { readonly secret: string },
  what: string,
): Answer {
  // Without PUBLIC_URL the link is printed as a path.
  const link = `${config.publicUrl ?? ''}${linkPath(kind, secret)}`;
  return { document: { link }, text: `  ${link}\n\n${what} The link is shown this once.` };
}
