// Imports bytes into an app as the command does, without a file.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../src/ground/database/clock.ts';
import { loadTimeZones } from '../../src/ground/database/load-time-zones.ts';
import { noExceptions } from '../../src/ground/outbound/address-guard.ts';
import type { Uuid } from '../../src/ground/values/ids.ts';
import { CellTypes } from '../../src/people/imports/cells.ts';
import { detectFormat } from '../../src/people/imports/detect.ts';
import { importFile } from '../../src/people/imports/import-file.ts';
import { type CredentialsToBind, createJudge } from '../../src/people/imports/judge.ts';
import type { ImportProgress } from '../../src/people/imports/progress.ts';
import { RejectFile } from '../../src/people/imports/reject-file.ts';

/** Imports the bytes in pieces of `pieceBytes`, so that a record may span pieces. */
export async function importInto(
  { sql, clock }: { readonly sql: Sql; readonly clock: Clock },
  appId: Uuid,
  bytes: Buffer,
  { pieceBytes = 64 * 1024, web = null, rejectsPath = '/nowhere/at/all' } = {} as {
    readonly pieceBytes?: number;
    /** The credential of browsers. */
    readonly web?: number | null;
    readonly rejectsPath?: string;
  },
): Promise<ImportProgress> {
  const types = new CellTypes(new Map());
  const format = detectFormat(bytes);
  const credentials: CredentialsToBind = { ios: null, android: null, web: new Map(), webOtherwise: web };
  const judge = createJudge({
    endpointRules: { pushHosts: [], exceptions: noExceptions, ownHosts: [] },
    timeZones: await loadTimeZones(sql),
    credentials,
    types,
  });
  return importFile(
    { sql, clock },
    {
      appId,
      fingerprint: null,
      bytes: (async function* () {
        for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
      })(),
      format,
      judge,
      types,
      rejects: new RejectFile(rejectsPath, format),
      onProgress: () => undefined,
    },
  );
}
