// The one-line warning about an app without an identify secret. Operators read it where they get a
// client key, and in `doctor`.
import { programName } from '../ground/program-name.ts';

/** The risk of a missing identify secret. `doctor` shows this text too. */
export const openIdentityRisk =
  "any visitor who guesses an external_id can link a browser to it and receive that user's pushes";

/** The warning for one app; `app` is its id or its name. */
export function warnOfOpenIdentity(app: string): string {
  return `WARNING: no identify secret is set: ${openIdentityRisk}. Set one: ${programName} identify-secret rotate ${app}`;
}
