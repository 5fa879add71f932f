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

/**
 * The effect of a code on the device: `retire` at once, `retire_provisionally` for an hour, `count`
 * until three in a row, or `keep` (contract 7.6).
 */
export type DeviceAction = 'retire' | 'retire_provisionally' | 'count' | 'keep';

export const actionOf: Readonly<Record<ErrorCode, DeviceAction>> = {
  unregistered: 'retire',
  invalid_token: 'retire_provisionally',
  credential_mismatch: 'count',
  auth_failed: 'keep',
  not_configured: 'keep',
  payload_too_large: 'keep',
  invalid_payload: 'keep',
  rate_limited: 'keep',
  provider_unavailable: 'keep',
  timeout: 'keep',
  expired: 'keep',
  unknown_error: 'keep',
};
