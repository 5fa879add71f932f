// The interface of a vendor's web push service: its endpoints, its rules beyond the RFCs, and the
// words of its answers. It never decides whether a request is right; the checks decide, and the
// vendor words the answer.

export type VendorName = 'generic' | 'fcm' | 'mozilla' | 'apple' | 'wns';

/** All reasons to refuse a request. Each vendor has an answer to each of them. */
export type Problem =
  | 'method_not_allowed'
  | 'endpoint_unknown'
  | 'endpoint_gone'
  | 'authorization_missing'
  | 'authorization_malformed'
  | 'vapid_key_invalid'
  | 'vapid_key_mismatch'
  | 'vapid_token_malformed'
  | 'vapid_signature'
  | 'vapid_audience'
  | 'vapid_expired'
  | 'vapid_expiry_far'
  | 'vapid_subject'
  | 'length_missing'
  | 'body_too_large'
  | 'ttl_missing'
  | 'ttl_invalid'
  | 'ttl_negative'
  | 'urgency_invalid'
  | 'topic_invalid'
  | 'encoding_missing'
  | 'encoding_unknown'
  | 'keys_equal'
  | 'cache_policy_conflict';

/** An answer on the wire. Header names are in lower case. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The facts that a vendor may put into its success. */
export interface Acceptance {
  /** Origin of the endpoint, for `Location`. */
  readonly origin: string;
  readonly messageId: string;
  /** Seconds, limited to the vendor's maximum. */
  readonly ttlSeconds: number;
}

export interface Personality {
  readonly name: VendorName;
  /** The host of the vendor's real endpoints. */
  readonly host: string;
  /** Whether a host name is one of the vendor's. */
  isHost(host: string): boolean;
  /** Path and query of an endpoint. `isRestricted`: the subscription is bound to a VAPID key. */
  endpointPath(token: string, isRestricted: boolean): string;
  /** The token in a path, or undefined when the path is not the vendor's. */
  readToken(path: string): string | undefined;
  readonly bodyBytesMax: number;
  /** The longest time that the vendor keeps a message; a larger TTL is shortened to it. */
  readonly ttlSecondsMax: number;
  /**
   * Whether the vendor refuses every request without VAPID, even for a subscription without a key.
   */
  readonly isVapidRequired: boolean;
  /** A fault that the vendor finds in a Topic that RFC 8030 allows. */
  topicFault?(topic: string): string | null;
  /**
   * A fault that the vendor finds in a `sub` that RFC 8292 allows. `subject` is undefined when the
   * claim is absent.
   */
  subjectFault?(subject: string | undefined): string | null;
  refuse(problem: Problem, detail: string): Answer;
  /** The vendor's usual words for a status that a script asks for. */
  refuseWithStatus(status: number): Answer;
  /** Answers that a script asks for by name: those that a status alone does not tell apart. */
  readonly named: Readonly<Record<string, Answer>>;
  accept(acceptance: Acceptance): Answer;
}

/** The reason phrase of a status, for bodies that repeat it. */
export const reasons: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  410: 'Gone',
  411: 'Length Required',
  413: 'Payload Too Large',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
};

/**
 * For vendors whose `refuseWithStatus` is simple: the problem with this status, if there is one.
 */
export function problemOfStatus(status: number): Problem | undefined {
  const problems: Readonly<Record<number, Problem>> = {
    404: 'endpoint_unknown',
    405: 'method_not_allowed',
    410: 'endpoint_gone',
    413: 'body_too_large',
  };
  return problems[status];
}
