// A process with several claimers, like a node of the service. Its arguments are `URL CLAIMS
// CLAIMERS SEED`, its one message is `Claimed`. It claims batches by the service's own statements,
// keeps each for a moment, and then releases it, renews it or dies with it.

import { openPool } from '@carillon/postgres';
import { createRandom } from '../../../rig/src/random.ts';
import { createClock } from '../../../server/src/ground/database/clock.ts';
import { mintUuid, type Uuid } from '../../../server/src/ground/values/ids.ts';
import { claimNextPacedBatch } from '../../../server/src/sending/delivery/pace-queries.ts';
import { claimNextBatch, handBackBatch, renewClaims } from '../../../server/src/sending/delivery/queries.ts';
import { die, hold, letGo } from './batches-table.ts';

export interface Claimed {
  readonly claims: number;
  /** Claims of a batch whose former holder had died. */
  readonly takenOver: number;
  /** How often there was nothing to claim. */
  readonly empty: number;
  readonly complaints: readonly string[];
}

const [url = '', ...numbers] = process.argv.slice(2);
const [claimsWanted = 0, claimers = 0, seed = 0] = numbers.map(Number);
const sql = openPool({ url, connectionsMax: claimers, name: 'carillon proof', statementTimeoutMs: 60_000 });
const clock = await createClock(sql);
const complaints: string[] = [];
let claims = 0;
let takenOver = 0;
let empty = 0;

async function claimInTurn(number: number): Promise<void> {
  const random = createRandom(seed + number);
  let lastAppId: Uuid = '00000000-0000-0000-0000-000000000000';
  while (claims < claimsWanted) {
    const claimId = mintUuid(clock.nowMs());
    const batch =
      random.below(2) === 0
        ? await claimNextPacedBatch(sql, clock, claimId)
        : await claimNextBatch(sql, clock, lastAppId, claimId);
    if (batch === undefined) {
      empty += 1;
      continue;
    }
    claims += 1;
    lastAppId = batch.appId;
    const { batches, free, inherited } = await hold(sql, claimId);
    takenOver += inherited;
    if (batches !== 1) complaints.push(`claim ${claimId} took ${batches} batches`);
    if (free !== batches) complaints.push(`batch ${batch.id} was held by another when ${claimId} got it`);
    if (random.below(100) === 0) {
      await die(sql, claimId);
      continue;
    }
    if (random.below(4) === 0 && (await renewClaims(sql, clock, [batch])).length === 0) {
      complaints.push(`claim ${claimId} was lost while its lease held`);
    }
    await letGo(sql, claimId);
    if (!(await handBackBatch(sql, clock, batch, clock.date())))
      complaints.push(`claim ${claimId} could not be given back`);
  }
}

await Promise.all(Array.from({ length: claimers }, (_, number) => claimInTurn(number)));
await sql.end();
const claimed: Claimed = { claims, takenOver, empty, complaints };
process.send?.(claimed, () => process.exit(0));
