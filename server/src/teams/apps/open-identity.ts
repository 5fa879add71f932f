// The one-line warnings about apps that demand no proof of identity, and about apps for which no
// proof can be made. Operators read them where they get a client key, at the start, and in
// `doctor`.
import { programName } from '../../ground/host/program-name.ts';

/** The risk of a missing identify secret. `doctor` shows this text too. */
export const openIdentityRisk =
  "any visitor who guesses an external_id can link a browser to it and receive that user's pushes";

/** The warning for one app; `app` is its id or its name. */
export function warnOfOpenIdentity(app: string): string {
  return `WARNING: no identify secret is set: ${openIdentityRisk}. Set one: ${programName} identify-secret rotate ${app}`;
}

/**
 * The warning about apps that required the bound form of earlier versions and have no token secret
 * yet. `names`: one text for all of them.
 */
export function warnOfUnprovable(names: string): string {
  return `Apps require the device of an identify and have no token secret, so POST /v1/identify answers 403 (${names}). Make one with: ${programName} identify-secret rotate APP. Your servers then sign tokens that name the device, in place of the bound form of earlier versions.`;
}
