// Finds the webhook that a command names, by its id, in any app.

import { decodeId } from '../ground/ids.ts';
import { programName } from '../ground/program-name.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { findWebhook, type StoredWebhook } from '../webhooks/queries.ts';
import { type Answer, printable } from './answer.ts';
import { CommandError } from './command-error.ts';
import { type CommandContext, withDatabase } from './context.ts';

/**
 * Runs `work` on the webhook that `text` names. Throws a `CommandError` where there is no such
 * webhook.
 */
export async function withWebhook(
  text: string,
  work: (context: CommandContext, webhook: StoredWebhook) => Promise<Answer>,
): Promise<Answer> {
  return withDatabase(loadCommandConfig(), async (context) => {
    const id = decodeId('whk', text);
    const webhook = id === undefined ? undefined : await findWebhook(context.sql, id);
    if (webhook) return work(context, webhook);
    throw new CommandError(`There is no webhook '${printable(text)}'; see them with: ${programName} webhook list APP`);
  });
}
