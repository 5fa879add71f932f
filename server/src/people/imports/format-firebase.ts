// Accounts as `firebase auth:export` writes them (firebase.google.com/docs/cli/auth): JSON with a
// list of users, or a CSV without a header. They become users; passwords, addresses and telephone
// numbers are not imported. FCM exports no tokens, because only the customer's own database has
// them. Pure.

import { isUtf8 } from 'node:buffer';
import { isRecord } from '../../ground/values/is-record.ts';
import { type ColumnCount, columnCounts, readAccountCells, splitAccounts } from './firebase-columns.ts';
import {
  cellsOf,
  emptyRow,
  type Format,
  type GivenRow,
  looseInstant,
  Refused,
  readForeignJson,
  textOf,
} from './given-row.ts';
import { type FileRecord, fileStart } from './records.ts';

export const firebaseJson: Format<unknown> = {
  name: 'Firebase Authentication JSON',
  read: (value) => {
    if (!isRecord(value)) throw new Refused('It is not an account.');
    const claims = textOf(value['customAttributes']);
    return [readAccount(textOf(value['localId']), textOf(value['displayName']), value['createdAt'], claims)];
  },
};

const notInColumns =
  'It does not have the columns that firebase-tools writes, each in its form: export the accounts as JSON.';

/** The number of columns of a file, by its beginning; undefined when it is not one of Firebase's. */
export function findColumnCount(head: Buffer): ColumnCount | undefined {
  return columnCounts.find((count) => {
    const splitter = splitAccounts(count, fileStart);
    const [first] = [...splitter.push(head), ...splitter.end()];
    return first && readAccountCells(first.bytes.toString('latin1'), count) !== undefined;
  });
}

export function firebaseCsv(count: ColumnCount): Format<FileRecord> {
  return {
    name: 'Firebase Authentication CSV',
    read: ({ bytes, fault }) => {
      if (fault !== null) throw new Refused(fault);
      if (!isUtf8(bytes)) throw new Refused('It is not UTF-8.');
      const cells = readAccountCells(bytes.toString('latin1'), count)?.cells;
      if (!cells) throw new Refused(notInColumns);
      const { localId, displayName, createdAt, customAttributes } = cells;
      const row = readAccount(localId, textOf(displayName), createdAt, textOf(customAttributes));
      if (displayName !== null) return [row];
      const dropped = 'displayName: Firebase escapes nothing, and it can be read in more than one way.';
      return [{ ...row, dropped: [...row.dropped, dropped] }];
    },
  };
}

function readAccount(id: string | undefined, name: string | undefined, createdAt: unknown, claims?: string): GivenRow {
  if (id === undefined) throw new Refused('It is not an account: its id is missing.');
  // The first word of a display name is the first name of most people.
  const firstName = name?.trim().split(/\s+/)[0];
  const dropped: string[] = [];
  return {
    ...emptyRow,
    isForeign: true,
    createdAt: looseInstant('createdAt', createdAt, dropped),
    user: { external_id: id, ...(firstName && { first_name: firstName }) },
    userCells: cellsOf(readForeignJson('customAttributes', claims, dropped)),
    dropped,
  };
}
