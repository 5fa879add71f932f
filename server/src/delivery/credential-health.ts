// The breaker: a wrong key upload must not destroy an audience (contract 7.6, footnote 1; providers 5.3). Pure rule; the
// counts are those of one credential's last hour.

export interface HourOfCredential {
  /** Attempts that ended without success. */
  readonly refused: number;
  /** Of those, the ones that ended `invalid_token` or `credential_mismatch`. */
  readonly suspicious: number;
  readonly everSucceeded: boolean;
  readonly succeededWithinHour: boolean;
}

/** No success in the hour, at least half suspicious, over enough attempts to tell. */
export function isSuspect({ refused, suspicious, everSucceeded, succeededWithinHour }: HourOfCredential): boolean {
  const attemptsLeast = everSucceeded ? 20 : 3;
  return !succeededWithinHour && refused >= attemptsLeast && suspicious * 2 >= refused;
}
