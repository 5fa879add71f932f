// The twelve codes with which a delivery can fail. Each code asks for a different action (contract
// 7.6). The list is closed in v1.

export const errorCodes = [
  'unregistered',
  'invalid_token',
  'credential_mismatch',
  'auth_failed',
  'not_configured',
  'payload_too_large',
  'invalid_payload',
  'rate_limited',
  'provider_unavailable',
  'timeout',
  'expired',
  'unknown_error',
] as const;

export type ErrorCode = (typeof errorCodes)[number];
