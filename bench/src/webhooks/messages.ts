// What the process of the endpoints is asked, and what it answers.

export type ToEndpoints =
  | { readonly type: 'where' }
  /** Forgets what was counted. */
  | { readonly type: 'reset' }
  | { readonly type: 'counts' }
  /** Of each request at the healthy one: how long after what it tells of it was there, in milliseconds. */
  | { readonly type: 'latencies' };

export interface EndpointPorts {
  /** Answers each request at once. */
  readonly healthy: number;
  /** Takes connections and requests, and says nothing. */
  readonly blackHole: number;
}

export interface EndpointCounts {
  readonly healthy: number;
  readonly blackHole: number;
  /** When the first and the last request at the healthy one were there, in milliseconds since the epoch. */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}
