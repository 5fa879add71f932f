// The questions to the process of the endpoints, and its answers.

export type ToEndpoints =
  | { readonly type: 'where' }
  /** Resets the counters. */
  | { readonly type: 'reset' }
  | { readonly type: 'counts' }
  /** For each request at the healthy endpoint: milliseconds from the event to the request. */
  | { readonly type: 'latencies' };

export interface EndpointPorts {
  /** The port of the endpoint that answers each request at once. */
  readonly healthy: number;
  /** The port of the endpoint that accepts connections and requests and never answers. */
  readonly blackHole: number;
}

export interface EndpointCounts {
  readonly healthy: number;
  readonly blackHole: number;
  /**
   * When the first and the last request arrived at the healthy endpoint, in milliseconds since the
   * epoch.
   */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}
