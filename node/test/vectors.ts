// The published vectors, docs/vectors.json. The server's tests read the same file.
import { readFileSync } from 'node:fs';

export interface ValidRequest {
  readonly name: string;
  readonly secrets: readonly string[];
  readonly t: number;
  readonly body: string;
  readonly signature: string;
}

export interface InvalidRequest {
  readonly name: string;
  readonly secret: string;
  /** The receiver's clock, in seconds. */
  readonly now: number;
  readonly body: string;
  readonly signature: string;
  readonly reason: string;
}

export interface Vectors {
  readonly webhook: {
    readonly secrets: { readonly new: string; readonly old: string };
    readonly valid: readonly [ValidRequest, ...ValidRequest[]];
    readonly invalid: readonly InvalidRequest[];
    readonly tolerance_seconds: number;
  };
  readonly user_hash: {
    readonly secret: string;
    readonly valid: readonly { readonly name: string; readonly external_id: string; readonly user_hash: string }[];
  };
  readonly user_token: {
    readonly secret: string;
    /** The `exp` claim that all tokens have. */
    readonly exp: number;
    readonly valid: readonly {
      readonly name: string;
      readonly external_id: string;
      readonly device_id?: string;
      readonly user_token: string;
    }[];
  };
}

export const vectors: Vectors = JSON.parse(readFileSync(new URL('../../docs/vectors.json', import.meta.url), 'utf8'));
