// `receipt-key rotate`: makes a new key for the tokens in receipts and click links. No key is ever
// shown.
import { z } from 'zod';
import { receiptKeysMax, rotateReceiptKey } from '../../sending/delivery/receipt-keys.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { command } from './command.ts';
import { CommandError } from './command-error.ts';
import { withDatabase } from './context.ts';

export const receiptKeyCommands = [
  command({
    form: 'receipt-key rotate',
    help: 'make a new key; former ones verify as long as messages of their time are kept',
    input: z.strictObject({}),
    run: () =>
      withDatabase(loadCommandConfig(), async (context) => {
        const rotated = await rotateReceiptKey({ ...context, seal: await context.loadSeal() });
        if (rotated === undefined) throw new CommandError('No service has run on this database yet: there is no key.');
        if (rotated === 'full') {
          throw new CommandError(
            `There are ${receiptKeysMax} keys already; the oldest is deleted with the last message of its time.`,
          );
        }
        return {
          document: { signs_from: rotated.signsFrom, former_keys: rotated.former },
          also: [
            'Every process knows the new key when it begins to sign.',
            'Former keys go on verifying as long as messages of their time are kept.',
          ],
        };
      }),
  }),
];
