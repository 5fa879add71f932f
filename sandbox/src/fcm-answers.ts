// Google's answers: the error documents of FCM v1 and of the token endpoint, and the page for a
// wrong address. The details are as the API gives them: FcmError where FCM itself refuses,
// ErrorInfo where Google's front refuses.
import type { Answer } from './vendors/vendor.ts';

const jsonType = { 'content-type': 'application/json; charset=UTF-8' };
const typePrefix = 'type.googleapis.com/';

type Detail = Readonly<Record<string, unknown>>;

const fcmError = (errorCode: string): Detail => ({
  '@type': `${typePrefix}google.firebase.fcm.v1.FcmError`,
  errorCode,
});

export const badRequest = (field: string, description: string): Detail => ({
  '@type': `${typePrefix}google.rpc.BadRequest`,
  fieldViolations: [{ field, description }],
});

const errorInfo = (reason: string, metadata: Record<string, string>): Detail => ({
  '@type': `${typePrefix}google.rpc.ErrorInfo`,
  reason,
  domain: 'googleapis.com',
  metadata: { service: 'fcm.googleapis.com', ...metadata },
});

function failed(code: number, status: string, message: string, details: readonly Detail[]): Answer {
  const error = { code, message, status, ...(details.length === 0 ? {} : { details }) };
  return { status: code, headers: jsonType, body: `${JSON.stringify({ error }, null, 2)}\n` };
}

const credentials =
  'Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.';

/** Every error that Google documents for messages:send; INVALID_ARGUMENT has two forms. */
const fcmErrors = {
  INVALID_ARGUMENT: () =>
    failed(400, 'INVALID_ARGUMENT', 'Request contains an invalid argument.', [
      badRequest('message', 'Request contains an invalid argument.'),
    ]),
  INVALID_REGISTRATION: () =>
    failed(400, 'INVALID_ARGUMENT', 'The registration token is not a valid FCM registration token', [
      fcmError('INVALID_ARGUMENT'),
      badRequest('message.token', 'The registration token is not a valid FCM registration token'),
    ]),
  MESSAGE_TOO_BIG: () =>
    failed(400, 'INVALID_ARGUMENT', 'Android message is too big', [
      fcmError('INVALID_ARGUMENT'),
      badRequest('message.android', 'Android message is too big'),
    ]),
  THIRD_PARTY_AUTH_ERROR: () =>
    failed(401, 'UNAUTHENTICATED', 'Auth error from APNS or Web Push Service', [fcmError('THIRD_PARTY_AUTH_ERROR')]),
  UNAUTHENTICATED: () =>
    failed(401, 'UNAUTHENTICATED', `Request had invalid authentication credentials. ${credentials}`, [
      errorInfo('ACCESS_TOKEN_INVALID', { method: 'google.firebase.fcm.v1.FcmService.SendMessage' }),
    ]),
  CREDENTIALS_MISSING: () =>
    failed(401, 'UNAUTHENTICATED', `Request is missing required authentication credential. ${credentials}`, [
      errorInfo('CREDENTIALS_MISSING', { method: 'google.firebase.fcm.v1.FcmService.SendMessage' }),
    ]),
  SENDER_ID_MISMATCH: () => failed(403, 'PERMISSION_DENIED', 'SenderId mismatch', [fcmError('SENDER_ID_MISMATCH')]),
  PERMISSION_DENIED: (project: string) =>
    failed(
      403,
      'PERMISSION_DENIED',
      `Permission 'cloudmessaging.messages.create' denied on resource '//cloudresourcemanager.googleapis.com/projects/${project}' (or it may not exist).`,
      [errorInfo('IAM_PERMISSION_DENIED', { permission: 'cloudmessaging.messages.create' })],
    ),
  SERVICE_DISABLED: (project: string) =>
    failed(
      403,
      'PERMISSION_DENIED',
      `Firebase Cloud Messaging API has not been used in project ${project} before or it is disabled.`,
      [errorInfo('SERVICE_DISABLED', { consumer: `projects/${project}` })],
    ),
  SCOPE_INSUFFICIENT: () =>
    failed(403, 'PERMISSION_DENIED', 'Request had insufficient authentication scopes.', [
      errorInfo('ACCESS_TOKEN_SCOPE_INSUFFICIENT', { method: 'google.firebase.fcm.v1.FcmService.SendMessage' }),
    ]),
  NOT_FOUND: () => failed(404, 'NOT_FOUND', 'Requested entity was not found.', []),
  UNREGISTERED: () => failed(404, 'NOT_FOUND', 'Requested entity was not found.', [fcmError('UNREGISTERED')]),
  QUOTA_EXCEEDED: () =>
    failed(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded for sending messages.', [
      fcmError('QUOTA_EXCEEDED'),
      {
        '@type': `${typePrefix}google.rpc.QuotaFailure`,
        violations: [{ subject: 'project', description: 'Message rate exceeded.' }],
      },
    ]),
  RESOURCE_EXHAUSTED: () => failed(429, 'RESOURCE_EXHAUSTED', 'Resource has been exhausted (e.g. check quota).', []),
  INTERNAL: () => failed(500, 'INTERNAL', 'Internal error encountered.', [fcmError('INTERNAL')]),
  UNAVAILABLE: () => failed(503, 'UNAVAILABLE', 'The service is currently unavailable.', [fcmError('UNAVAILABLE')]),
} as const;

export type FcmErrorName = keyof typeof fcmErrors;

export const fcmErrorNames = Object.keys(fcmErrors) as FcmErrorName[];

export function refuseByFcm(name: FcmErrorName, project = 'unknown'): Answer {
  return fcmErrors[name](project);
}

/** A message that cannot be read, or that contains what FCM does not accept. */
export function refuseMessage(message: string, field: string | null): Answer {
  return failed(400, 'INVALID_ARGUMENT', message, field === null ? [] : [badRequest(field, message)]);
}

const usual: Readonly<Record<number, FcmErrorName>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'SENDER_ID_MISMATCH',
  404: 'UNREGISTERED',
  429: 'QUOTA_EXCEEDED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
};

export function refuseByFcmStatus(status: number, project: string): Answer {
  const name = usual[status];
  return name === undefined ? page(status, 'Error') : refuseByFcm(name, project);
}

export function acceptByFcm(project: string, messageId: string): Answer {
  return {
    status: 200,
    headers: jsonType,
    body: `${JSON.stringify({ name: `projects/${project}/messages/${messageId}` }, null, 2)}\n`,
  };
}

/** The page of Google's front for an address without a service. */
export function notFoundPage(path: string): Answer {
  const quoted = path.slice(0, 200).replace(/[&<>"]/g, (mark) => `&#${mark.charCodeAt(0)};`);
  const { headers, body } = page(404, 'Not Found');
  return {
    status: 404,
    headers,
    body: `${body}<p>The requested URL <code>${quoted}</code> was not found on this server.\n`,
  };
}

function page(status: number, name: string): Answer {
  return {
    status,
    headers: { 'content-type': 'text/html; charset=UTF-8' },
    body: `<!DOCTYPE html>\n<html lang=en>\n<meta charset=utf-8>\n<title>Error ${status} (${name})!!1</title>\n<p><b>${status}.</b> <ins>That’s an error.</ins>\n`,
  };
}

/** Every error that the token endpoint documents (RFC 6749 section 5.2, in Google's words). */
const oauthErrors = {
  invalid_request: [400, 'Required parameter is missing: grant_type'],
  invalid_grant: [400, 'Invalid JWT Signature.'],
  invalid_scope: [400, 'Invalid OAuth scope or ID token audience provided.'],
  unsupported_grant_type: [400, 'Invalid grant_type'],
  invalid_client: [401, 'The OAuth client was not found.'],
  unauthorized_client: [
    401,
    'Client is unauthorized to retrieve access tokens using this method, or client not authorized for any of the scopes requested.',
  ],
  temporarily_unavailable: [503, 'The service is temporarily unavailable.'],
  internal_failure: [500, 'Internal error.'],
} as const;

export type OauthErrorName = keyof typeof oauthErrors;

export const oauthErrorNames = Object.keys(oauthErrors) as OauthErrorName[];

export function refuseByOauth(name: OauthErrorName, description: string = oauthErrors[name][1]): Answer {
  const body = JSON.stringify({ error: name, error_description: description });
  return { status: oauthErrors[name][0], headers: jsonType, body };
}

export function refuseByOauthStatus(status: number): Answer {
  const name = status === 400 ? 'invalid_grant' : oauthErrorNames.find((each) => oauthErrors[each][0] === status);
  return name === undefined ? page(status, 'Error') : refuseByOauth(name);
}

export function acceptByOauth(accessToken: string, expiresIn: number): Answer {
  return {
    status: 200,
    headers: { ...jsonType, 'cache-control': 'no-cache, no-store, max-age=0, must-revalidate' },
    body: JSON.stringify({ access_token: accessToken, expires_in: expiresIn, token_type: 'Bearer' }),
  };
}
