// `receipt-key rotate`: makes a new key for the tokens in receipts and click links. No key is ever
// shown.
import type { Command } from 'commander';
import { receiptKeysMax, rotateReceiptKey } from '../delivery/receipt-keys.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { type Answer, type AnswerOptions, answer, withJson } from './answer.ts';
import { CommandError } from './command-error.ts';
import { withDatabase } from './context.ts';

export function addReceiptKeyCommands(program: Command): void {
  const receiptKey = program.command('receipt-key').description('the key that signs receipt tokens and click links');
  withJson(receiptKey.command('rotate'))
    .description('make a new key; former ones verify as long as messages of their time are kept')
    .action((options: AnswerOptions) => answer(options, rotate));
}

async function rotate(): Promise<Answer> {
  return withDatabase(loadCommandConfig(), async (context) => {
    const rotated = await rotateReceiptKey({ ...context, seal: await context.loadSeal() });
    if (rotated === undefined) throw new CommandError('No service has run on this database yet: there is no key.');
    if (rotated === 'full') {
      throw new CommandError(
        `There are ${receiptKeysMax} keys already; the oldest is deleted with the last message of its time.`,
      );
    }
    const { signsFrom, former } = rotated;
    const kept = former === 1 ? 'The former key goes on verifying' : `${former} former keys go on verifying`;
    return {
      document: { signs_from: signsFrom, former_keys: former },
      text: `A new key signs from ${signsFrom.toISOString()}, when every process knows it.\n${kept} as long as messages of their time are kept.`,
    };
  });
}
