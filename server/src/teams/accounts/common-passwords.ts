// Refuses the 10,000 most common passwords (contract 19), by a list that a library keeps. The list
// is loaded when the first password is set, because it takes a megabyte and few processes need it.
import { invalid } from '../../ground/http/api-error.ts';

const refusedCount = 10_000;
let known: Promise<ReadonlySet<string>> | undefined;

/** Throws the 400, at the field of the password. Letter case does not matter. */
export async function refuseCommonPassword(password: string, field: string): Promise<void> {
  known ??= load();
  if (!(await known).has(password.normalize('NFKC').toLowerCase())) return;
  const message = `This password is among the ${refusedCount} most common ones: choose another.`;
  throw invalid([{ path: [field], code: 'invalid_value', message }]);
}

async function load(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  return new Set(dictionary['passwords-common'].slice(0, refusedCount));
}
