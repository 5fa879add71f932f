// Accounts as `firebase auth:export` writes them (firebase.google.com/docs/cli/auth): JSON with a
// list of users, or a CSV without a header. They become users; passwords, addresses and telephone
// numbers are not imported. FCM exports no tokens, because only the customer's own database has
// them. Pure.

import { isRecord } from '../ground/is-record.ts';
import { cellsOf, emptyRow, type Format, type GivenRow, looseInstant, Refused, textOf } from './given-row.ts';

export const firebaseJson: Format<unknown> = {
  name: 'Firebase Authentication JSON',
  read: (value) => {
    if (!isRecord(value)) throw new Refused('It is not an account.');
    const claims = textOf(value['customAttributes']);
    return [readAccount(textOf(value['localId']), textOf(value['displayName']), value['createdAt'], claims)];
  },
};

/** Positions of the columns, which no header names. */
const column = { localId: 0, emailVerified: 2, displayName: 5, createdAt: 23, customAttributes: 27 };
const columnsMin = 26;

/** Returns undefined when the first line is not one of Firebase's. */
export function firebaseCsv(first: readonly string[]): Format<readonly string[]> | undefined {
  const isAccount = first.length >= columnsMin && /^(true|false)?$/.test(first[column.emailVerified] ?? '');
  if (!isAccount || !/^\d{12,13}$/.test(first[column.createdAt] ?? '')) return undefined;
  return {
    name: 'Firebase Authentication CSV',
    read: (cells) => [
      readAccount(
        textOf(cells[column.localId]),
        textOf(cells[column.displayName]),
        cells[column.createdAt],
        textOf(cells[column.customAttributes]),
      ),
    ],
  };
}

function readAccount(id: string | undefined, name: string | undefined, createdAt: unknown, claims?: string): GivenRow {
  if (id === undefined) throw new Refused('It is not an account: its id is missing.');
  // The first word of a display name is the first name of most people.
  const firstName = name?.trim().split(/\s+/)[0];
  return {
    ...emptyRow,
    isForeign: true,
    createdAt: looseInstant(createdAt),
    user: { external_id: id, ...(firstName && { first_name: firstName }) },
    userCells: cellsOf(parseClaims(claims)),
  };
}

function parseClaims(claims: string | undefined): unknown {
  try {
    return claims === undefined ? undefined : JSON.parse(claims);
  } catch {
    return undefined;
  }
}
