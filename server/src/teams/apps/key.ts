// API keys: minting and reading (contract 3, R-40). Pure. The form is that of every checked token.
import { isTokenOf, type MintedToken, mintToken } from '../../ground/secrets/checked-token.ts';
import type { KeyScope } from './caller.ts';

export const keyPrefixes: Readonly<Record<KeyScope, string>> = { server: 'sk_live_', client: 'ck_live_' };

/** Mints a key of 256 random bits. Only test vectors pass `bytes`. */
export function mintKey(scope: KeyScope, bytes?: Buffer): MintedToken {
  return mintToken(keyPrefixes[scope], bytes);
}

/**
 * Returns the scope that a well-formed key claims; undefined for a text that cannot be a key, which
 * then costs no query.
 */
export function scopeOfKey(text: string): KeyScope | undefined {
  return (['server', 'client'] as const).find((scope) => isTokenOf(keyPrefixes[scope], text));
}
