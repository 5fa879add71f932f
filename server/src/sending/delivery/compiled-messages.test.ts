import type { Sql } from '@carillon/postgres';
import { expect, test } from 'vitest';
import { mintUuid } from '../../ground/values/ids.ts';
import { createCompiledMessages } from './compiled-messages.ts';
import type { MessageLedger } from './message-ledger.ts';

test('R-100 a message is compiled again after a sleep, during which a property may have moved', async () => {
  const clock = { ms: 0, steadyMs: () => clock.ms };
  let reads = 0;
  const find = async () => {
    reads++;
    return { content: { title: 'Sale' }, defaultUrl: null };
  };
  const ledger = { find } as unknown as MessageLedger;
  const compiled = createCompiledMessages({ sql: {} as Sql, ledger, clock });
  const [appId, messageId] = [mintUuid(), mintUuid()];
  await compiled.get(appId, messageId);
  await compiled.get(appId, messageId);
  expect(reads).toBe(1);
  clock.ms += 7_200_000;
  await compiled.get(appId, messageId);
  expect(reads).toBe(2);
});
