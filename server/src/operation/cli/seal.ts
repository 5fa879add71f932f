// `seal rotate`: seals every stored secret with the current master key, so that the former key can
// be deleted. `receipt-key rotate`: makes a new key for the tokens in receipts and click links.
// No key is ever shown.
import { resealReceiptKeys } from '../../ground/database/receipt-keys.ts';
import { receiptKeysMax, rotateReceiptKey } from '../../sending/delivery/receipt-keys.ts';
import { resealWebhookSecrets } from '../../sending/webhooks/secrets.ts';
import { createFactorSeal } from '../../teams/accounts/factor-seal.ts';
import { resealSecondFactors } from '../../teams/accounts/second-factor.ts';
import { resealCredentials } from '../../teams/apps/credentials.ts';
import { resealIdentifySecrets } from '../../teams/apps/identify-secrets.ts';
import { recordAudit } from '../../teams/audit/record-audit.ts';
import { loadMasterKey } from '../process/master-key.ts';
import { type Answer, CommandError } from './answer.ts';
import type { CommandContext } from './context.ts';
import { databaseCommand } from './database-command.ts';

export const commands = [
  databaseCommand({
    form: 'seal rotate',
    help: 'seal every stored secret with MASTER_KEY; run it while the service has MASTER_KEY and MASTER_KEY_PREVIOUS',
    run: reseal,
  }),
  databaseCommand({
    form: 'receipt-key rotate',
    help: 'make a new key; former ones verify as long as messages of their time are kept',
    run: rotateReceiptKeyNow,
  }),
];

async function rotateReceiptKeyNow(context: CommandContext): Promise<Answer> {
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
}

async function reseal({ config, sql, clock, by, loadSeal }: CommandContext): Promise<Answer> {
  const deps = { sql, seal: await loadSeal() };
  // Each row has its own transaction. The audit log gets its entry before the first of them.
  const target = deps.seal.keyId;
  await recordAudit({ tx: sql, clock, by }, { appId: null, action: 'seal.rotate', target });
  const done = {
    receipt_keys: await resealReceiptKeys(deps),
    credentials: await resealCredentials(deps),
    identify_secrets: await resealIdentifySecrets(deps),
    webhook_secrets: await resealWebhookSecrets(deps),
    second_factors: await resealSecondFactors({
      sql,
      factors: createFactorSeal(deps.seal, await loadMasterKey(config)),
    }),
  };
  const counts = Object.fromEntries(Object.entries(done).map(([name, { count }]) => [name, count]));
  const unreadable = Object.values(done).flatMap((each) => each.unreadable);
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const lines = [
    total === 0
      ? 'Every secret is sealed with the master key already.'
      : `Sealed with the master key: ${describe(counts)}.`,
    ...(unreadable.length === 0 && config.masterKeyPrevious !== null ? ['MASTER_KEY_PREVIOUS can be removed.'] : []),
  ];
  return {
    document: { key_id: deps.seal.keyId, resealed: counts, unreadable },
    text: lines.join('\n'),
    ...(unreadable.length > 0 && {
      problem: `Neither MASTER_KEY nor MASTER_KEY_PREVIOUS opens ${listed(unreadable)}.`,
    }),
  };
}

function describe(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${name.replaceAll('_', ' ')} ${count}`)
    .join(', ');
}

/** The number of names shown in one line. */
const listedMax = 5;

function listed(names: readonly string[]): string {
  const more = names.length - listedMax;
  return names.slice(0, listedMax).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
