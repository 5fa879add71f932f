// The breaker: the upload of a wrong key must not destroy an audience (contract 7.6, footnote 1;
// providers 5.3). A pure rule over the counts of one credential's last hour.

export interface HourOfCredential {
  /** Attempts that ended without success. */
  readonly refused: number;
  /** The part of `refused` that ended with `invalid_token` or `credential_mismatch`. */
  readonly suspicious: number;
  readonly everSucceeded: boolean;
  readonly succeededWithinHour: boolean;
}

/**
 * Whether the credential is suspect: no success in the hour, and at least half of enough refused
 * attempts are suspicious.
 */
export function isSuspect({ refused, suspicious, everSucceeded, succeededWithinHour }: HourOfCredential): boolean {
  const attemptsLeast = everSucceeded ? 20 : 3;
  return !succeededWithinHour && refused >= attemptsLeast && suspicious * 2 >= refused;
}
