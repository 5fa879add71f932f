// Recognises secrets in a text: our own formats, and those of services that are often used beside
// them. Pure.
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

export interface FoundSecret {
  readonly kind: string;
  /** The line where the secret begins, from 1. */
  readonly line: number;
  /** Identifies the secret without showing it: the first 16 hexadecimal digits of its SHA-256. */
  readonly fingerprint: string;
}

interface Pattern {
  readonly kind: string;
  /** Must have the flag `g`. The first group, or else the whole match, is the secret. */
  readonly form: RegExp;
  /** Verifies a checksum, for formats that have one. */
  readonly isReal?: (secret: string) => boolean;
}

const patterns: readonly Pattern[] = [
  { kind: 'Carillon key', form: /\b(?:sk|ck|ot)_live_[0-9A-Za-z]{49}\b/g, isReal: hasChecksum },
  { kind: 'Carillon webhook or identify secret', form: /\b(?:whsec|idsec|idjwt)_[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])/g },
  { kind: 'master key', form: /MASTER_KEY(?:_PREVIOUS)?['"]?[=:] ?['"]?([A-Za-z0-9+/]{43}=)/g },
  { kind: 'private key', form: /-----BEGIN (?:[A-Z]{1,12} )?PRIVATE KEY-----(?:\\[nr]|\s)+([A-Za-z0-9+/=]{40,64})/g },
  { kind: 'VAPID private key', form: /"privateKey": ?"([A-Za-z0-9_-]{43})"/g },
  { kind: 'age identity', form: /\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b/g },
  { kind: 'AWS key id', form: /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g },
  { kind: 'GitHub token', form: /\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{82})\b/g },
  { kind: 'npm token', form: /\bnpm_[A-Za-z0-9]{36}\b/g },
  { kind: 'Google API key', form: /\bAIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])/g },
  { kind: 'Google access token', form: /\bya29\.[0-9A-Za-z_-]{60,512}/g },
  { kind: 'Slack token', form: /\bxox[abeoprs]-[A-Za-z0-9-]{20,255}/g },
  { kind: 'Stripe key', form: /\b[rs]k_live_[0-9A-Za-z]{24,36}\b/g },
  { kind: 'JSON web token', form: /\beyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{20,1000}/g },
  { kind: 'password in an address', form: /\b[a-z]{2,12}:\/\/[\w.-]{1,64}:([^\s:@/'"`$<>{}()[\]\\]{12,128})@/g },
];

/** The secrets in a text, in the order of the patterns. */
export function findSecrets(text: string): FoundSecret[] {
  return patterns.flatMap(({ kind, form, isReal = () => true }) =>
    [...text.matchAll(form)]
      .map((match) => ({ secret: match[1] ?? match[0], index: match.index }))
      .filter(({ secret }) => isReal(secret))
      .map(({ secret, index }) => ({
        kind,
        line: text.slice(0, index).split('\n').length,
        fingerprint: nameOf(secret),
      })),
  );
}

function nameOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex').slice(0, 16);
}

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * A key's last six characters are the CRC-32 of the others (contract 3.3). Examples in documents
 * have a wrong one.
 */
function hasChecksum(key: string): boolean {
  let rest = crc32(key.slice(0, -6));
  let text = '';
  for (let i = 0; i < 6; i++) {
    text = `${alphabet[rest % 62]}${text}`;
    rest = Math.floor(rest / 62);
  }
  return key.endsWith(text);
}
