// Schemas that several areas of the console use.
import { z } from 'zod';
import { changedMeanwhile } from '../../ground/http/api-error.ts';
import { component, idSchema, instantText, shownName, text } from '../../ground/http/schemas.ts';
import { roles } from '../../teams/accounts/roles.ts';

export const appId = component('AppId', idSchema('app'));
export const accountId = component('AccountId', idSchema('acc'));
export const organisationId = component('OrganisationId', idSchema('org'));
export const role = component('Role', z.enum(roles));
/** The answer of an operation without a result. */
export const done = component('Done', z.strictObject({ done: z.literal(true) }), { done: true });

export const oneLine = shownName(text(128, 1)).refine(
  (text) => text.trim() !== '',
  'A name has a character that can be seen.',
);

/** An e-mail address, by the same rule as at sign-in, so that every account can sign in. */
export const emailAddress = z.email('Give an e-mail address.').max(254);

/** The field in which a writer names the state of the object that they saw. */
export const seenAt = instantText.describe('`updated_at` as it was read; another one is 400 `changed_meanwhile`.');

/** The words that search a list of the console (contract 19). */
export const searchField = text(128, 1);

/**
 * Throws the 400 `changed_meanwhile` when the object is newer than the state that the writer saw.
 */
export function checkSeen(seen: string, updatedAt: Date, present: () => object): void {
  if (new Date(seen).getTime() !== updatedAt.getTime()) throw changedMeanwhile(present());
}
