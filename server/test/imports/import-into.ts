// Imports bytes into an app as the command does, without a file.

import type { Clock } from '../../src/database/clock.ts';
import type { Sql } from '../../src/database/db.ts';
import { loadTimeZones } from '../../src/database/load-time-zones.ts';
import type { Uuid } from '../../src/ground/ids.ts';
import { CellTypes } from '../../src/imports/cells.ts';
import { detectFormat } from '../../src/imports/detect.ts';
import { importFile } from '../../src/imports/import-file.ts';
import { type CredentialsToBind, createJudge } from '../../src/imports/judge.ts';
import type { ImportProgress } from '../../src/imports/progress.ts';
import { RejectFile } from '../../src/imports/reject-file.ts';
import { noExceptions } from '../../src/outbound/address-guard.ts';

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
