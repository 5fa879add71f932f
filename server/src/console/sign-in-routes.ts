// The areas Setup and Session, as far as they let people in: by a link, by password and second
// factor. The answers give the cookie of the session, in the form that this connection allows.
import { z } from 'zod';
import type { Auth, AuthRequest, SignedIn } from '../accounts/auth.ts';
import { changePassword } from '../accounts/change-password.ts';
import { emailOf, enterByLink, getLink } from '../accounts/links.ts';
import { attempt, sessionSubjects, signInSubjects } from '../accounts/login-limit.ts';
import { type Passwords, passwordLength } from '../accounts/password.ts';
import { type CookieForm, clearCookie, readCookie, stepFormOf, writeCookie } from '../accounts/session-cookie.ts';
import { signToken } from '../accounts/signed-token.ts';
import type { Clock } from '../database/clock.ts';
import type { Sql } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';
import { ApiError, invalid } from '../http/api-error.ts';
import { routesWith } from '../http/route.ts';
import { component, instant } from '../http/schemas.ts';
import { Answer, type ApiRequest } from '../http/server.ts';
import { type ConsoleCaller, sessionOf, type Visitor } from './caller.ts';
import { done, emailAddress as email, oneLine, role } from './schemas.ts';

export interface SignInDeps {
  readonly sql: Sql;
  readonly txSql: Sql;
  readonly clock: Clock;
  readonly auth: Auth;
  readonly passwords: Passwords;
  /** Signs session cookies. */
  readonly authSecret: string;
  readonly oidc: { readonly isOnly: boolean; readonly name: string } | null;
  readonly hasDemo: () => Promise<boolean>;
  readonly hasOwner: () => Promise<boolean>;
  /** Deletes the file of the first start's keys, once somebody has signed in. */
  onSignIn(): void;
}

const password = z.string().min(passwordLength.min).max(passwordLength.max);
const secret = z.string().min(1).max(64).describe('The part of the link after `#`.');
const code = z.string().min(4).max(32);

const welcome = component(
  'Welcome',
  z.strictObject({
    can_sign_in: z
      .boolean()
      .describe('False: this connection is plain http from another machine, which carries no session.'),
    needs_setup: z.boolean().describe('Nobody is an owner yet: open the set-up link.'),
    password: z.boolean().describe('False: people sign in by OpenID Connect alone.'),
    oidc: z.string().nullable().describe('The name of the provider of OpenID Connect, if there is one.'),
    demo: z.boolean().describe('The page /demo exists.'),
  }),
);
const linkSchema = component(
  'Link',
  z.strictObject({
    kind: z.enum(['setup', 'invite', 'reset']),
    organisation: z.string().nullable(),
    email: z.string().nullable().describe('Null: the person names one.'),
    role: role.nullable(),
    expires_at: instant.nullable(),
  }),
);
const entered = component(
  'Entered',
  z.strictObject({
    next: z
      .enum(['signed_in', 'second_factor', 'sign_in'])
      .describe('`second_factor`: send a code now. `sign_in`: it is done, and the second factor asks for a sign-in.'),
  }),
);
const ownPassword = component('OwnPassword', z.strictObject({ password: z.string().min(1).max(1024) }));
const signedInExample = { next: 'signed_in' };
const withCookie = { 'set-cookie': 'The session, or the step before the second factor.' };

const open = routesWith<SignInDeps, Visitor>('Sign in');
const own = routesWith<SignInDeps, ConsoleCaller>('Session');

export const signInRoutes = [
  open({
    id: 'getWelcome',
    method: 'GET',
    path: '/console/api/welcome',
    access: 'public',
    summary: 'What the sign-in page shows',
    answers: {
      200: {
        description: 'The ways to sign in.',
        schema: welcome,
        example: { can_sign_in: true, needs_setup: false, password: true, oidc: null, demo: true },
      },
    },
  }).handle(async ({ hasOwner, oidc, hasDemo }, { caller }) => ({
    can_sign_in: caller.cookieForm !== null,
    needs_setup: !(await hasOwner()),
    password: oidc === null || !oidc.isOnly,
    oidc: oidc?.name ?? null,
    demo: await hasDemo(),
  })),
  open({
    id: 'getLink',
    method: 'POST',
    path: '/console/api/link',
    access: 'public',
    summary: 'Read the purpose of a link',
    body: { schema: component('LinkSecret', z.strictObject({ secret })), example: { secret: 'Zp3…' } },
    answers: {
      200: {
        description: 'The link is valid.',
        schema: linkSchema,
        example: { kind: 'invite', organisation: 'Shop', email: 'ben@shop.example', role: 'member', expires_at: null },
      },
    },
    refusals: ['not_found'],
  }).handle(async (deps, { body }) => {
    const link = await getLink(deps, body.secret);
    const { kind, organisationName, expiresAt } = link;
    return { kind, organisation: organisationName, email: link.email, role: link.role, expires_at: expiresAt };
  }),
  open({
    id: 'setUp',
    method: 'POST',
    path: '/console/api/setup',
    access: 'public',
    summary: 'Make the first owner and name the organisation, once',
    body: {
      schema: component('Setup', z.strictObject({ secret, organisation: oneLine, name: oneLine, email, password })),
      example: { secret: 'Zp3…', organisation: 'Shop', name: 'Anna', email: 'anna@shop.example', password: '…' },
    },
    answers: { 200: { description: 'Signed in.', schema: entered, example: signedInExample, headers: withCookie } },
    refusals: ['not_found', 'https_required'],
  }).handle(async (deps, request) => enter(deps, 'setup', request)),
  open({
    id: 'acceptInvite',
    method: 'POST',
    path: '/console/api/join',
    access: 'public',
    summary: 'Accept an invitation',
    body: {
      schema: component('Join', z.strictObject({ secret, name: oneLine, email: email.optional(), password })),
      example: { secret: 'Zp3…', name: 'Ben', password: '…' },
    },
    answers: { 200: { description: 'Signed in.', schema: entered, example: signedInExample, headers: withCookie } },
    refusals: ['not_found', 'https_required'],
  }).handle(async (deps, request) => enter(deps, 'invite', request)),
  open({
    id: 'resetPassword',
    method: 'POST',
    path: '/console/api/reset',
    access: 'public',
    summary: 'Set a new password by a reset link',
    body: {
      schema: component('Reset', z.strictObject({ secret, password })),
      example: { secret: 'Zp3…', password: '…' },
    },
    answers: {
      200: {
        description: 'The password is set; all sessions have ended.',
        schema: entered,
        example: signedInExample,
        headers: withCookie,
      },
    },
    refusals: ['not_found', 'https_required'],
  }).handle(async (deps, request) => enter(deps, 'reset', request)),
  open({
    id: 'signIn',
    method: 'POST',
    path: '/console/api/login',
    access: 'public',
    summary: 'Sign in by e-mail address and password',
    body: {
      schema: component('Credentials', z.strictObject({ email, password: z.string().min(1).max(1024) })),
      example: { email: 'anna@shop.example', password: '…' },
    },
    answers: {
      200: {
        description: 'Signed in, or a code is needed.',
        schema: entered,
        example: signedInExample,
        headers: withCookie,
      },
    },
    refusals: ['wrong_credentials', 'https_required', 'rate_limited'],
  }).handle(async (deps, request) => {
    const { caller, body, address } = request;
    const form = formOf(caller);
    const credentials = { email: emailOf(body.email), password: body.password };
    const result = await attempt(
      deps,
      signInSubjects(credentials.email, address),
      () => deps.auth.signIn(authRequestOf(request, form), credentials),
      // With a second factor the password alone is no success: its codes are counted too.
      (signedIn) => 'session' in signedIn,
    );
    if ('session' in result) deps.onSignIn();
    return answerSignedIn(form, result);
  }),
  open({
    id: 'signInSecondFactor',
    method: 'POST',
    path: '/console/api/login/second-factor',
    access: 'public',
    summary: 'Finish signing in by a code of the authenticator, or by a recovery code',
    body: {
      schema: component('SecondFactorCode', z.strictObject({ code, is_recovery: z.boolean().default(false) })),
      example: { code: '123456' },
    },
    answers: { 200: { description: 'Signed in.', schema: entered, example: signedInExample, headers: withCookie } },
    refusals: ['wrong_credentials', 'https_required', 'rate_limited'],
  }).handle(async (deps, request) => {
    const { caller, body, address } = request;
    const form = formOf(caller);
    const given = authRequestOf(request, form);
    // The step names the account. A caller who could name one would guess under another's name.
    const account = await deps.auth.accountOfStep(given.step);
    const result = await attempt(deps, signInSubjects(account?.email ?? null, address), () =>
      deps.auth.verifyStep(given, body.code.trim(), body.is_recovery ? 'recovery' : 'totp'),
    );
    deps.onSignIn();
    return answerSignedIn(form, result);
  }),
];

export const secondFactorRoutes = [
  own({
    id: 'changePassword',
    method: 'POST',
    path: '/console/api/password',
    access: 'session',
    least: 'person',
    summary: 'Change your password; your other sessions end',
    body: {
      schema: component('PasswordChange', z.strictObject({ current: z.string().min(1).max(1024), next: password })),
      example: { current: '…', next: '…' },
    },
    answers: { 200: { description: 'Changed.', schema: done, example: { done: true }, headers: withCookie } },
    refusals: ['wrong_credentials'],
  }).handle(async (deps, request) => {
    const { caller, body, address } = request;
    const form = formOf(caller);
    const session = sessionOf(caller);
    const change = { ...body, address, userAgent: userAgentOf(request) };
    const token = await attempt(deps, sessionSubjects(session.id), () =>
      changePassword({ ...deps, by: caller.by }, session, change),
    );
    return withSession(form, { session: signToken(deps.authSecret, token) }, { done: true as const });
  }),
  own({
    id: 'beginSecondFactor',
    method: 'POST',
    path: '/console/api/2fa/enable',
    access: 'session',
    least: 'person',
    summary: 'Make a second factor; it counts from its first code on',
    body: { schema: ownPassword, example: { password: '…' } },
    answers: {
      200: {
        description: 'The seed and the recovery codes, shown this once.',
        schema: component('SecondFactor', z.strictObject({ uri: z.string(), recovery_codes: z.array(z.string()) })),
        example: { uri: 'otpauth://totp/…', recovery_codes: ['aB3dE-fG7hI'] },
      },
    },
    refusals: ['wrong_credentials'],
  }).handle(async (deps, request) => {
    const made = await confirmed(deps, request, (given, id) =>
      deps.auth.beginSecondFactor(given, id, request.body.password),
    );
    return { uri: made.uri, recovery_codes: [...made.recoveryCodes] };
  }),
  own({
    id: 'confirmSecondFactor',
    method: 'POST',
    path: '/console/api/2fa/verify',
    access: 'session',
    least: 'person',
    summary: 'Show the first code of a new second factor',
    body: { schema: component('FirstCode', z.strictObject({ code })), example: { code: '123456' } },
    answers: {
      200: {
        description: 'The second factor counts from now on.',
        schema: done,
        example: { done: true },
        headers: withCookie,
      },
    },
    refusals: ['wrong_credentials'],
  }).handle(async (deps, request) => {
    if (sessionOf(request.caller).hasSecondFactor) {
      throw invalid([{ path: [], code: 'in_use', message: 'Your second factor counts already.' }]);
    }
    const result = await confirmed(deps, request, (given, id) =>
      deps.auth.confirmSecondFactor(given, id, request.body.code.trim()),
    );
    return withSession(formOf(request.caller), result, { done: true as const });
  }),
  own({
    id: 'removeSecondFactor',
    method: 'POST',
    path: '/console/api/2fa/disable',
    access: 'session',
    least: 'person',
    summary: 'Remove your second factor',
    body: { schema: ownPassword, example: { password: '…' } },
    answers: { 200: { description: 'Removed.', schema: done, example: { done: true }, headers: withCookie } },
    refusals: ['wrong_credentials'],
  }).handle(async (deps, request) => {
    const result = await confirmed(deps, request, (given, id) =>
      deps.auth.removeSecondFactor(given, id, request.body.password),
    );
    return withSession(formOf(request.caller), result, { done: true as const });
  }),
  own({
    id: 'renewRecoveryCodes',
    method: 'POST',
    path: '/console/api/2fa/recovery-codes',
    access: 'session',
    least: 'person',
    summary: 'Make new recovery codes; the former ones are void',
    body: { schema: ownPassword, example: { password: '…' } },
    answers: {
      200: {
        description: 'The codes, shown this once.',
        schema: component('RecoveryCodes', z.strictObject({ recovery_codes: z.array(z.string()) })),
        example: { recovery_codes: ['aB3dE-fG7hI'] },
      },
    },
    refusals: ['wrong_credentials'],
  }).handle(async (deps, request) => {
    const codes = await confirmed(deps, request, (given, id) =>
      deps.auth.renewRecoveryCodes(given, id, request.body.password),
    );
    return { recovery_codes: [...codes] };
  }),
];

type Asked<Caller> = Pick<ApiRequest<Caller>, 'caller' | 'header' | 'address'>;

/** The form of the cookie. Throws the 403 where no session can be given. */
export function formOf({ cookieForm }: Visitor): CookieForm {
  if (!cookieForm) throw new ApiError('https_required');
  return cookieForm;
}

export function userAgentOf({ header }: Pick<ApiRequest<unknown>, 'header'>): string | null {
  return header('user-agent')[0]?.slice(0, 256).toWellFormed() ?? null;
}

function authRequestOf(request: Asked<Visitor>, form: CookieForm): AuthRequest {
  const cookies = request.header('cookie');
  return {
    session: readCookie(cookies, form.name) ?? null,
    step: readCookie(cookies, stepFormOf(form).name) ?? null,
    address: request.address,
    userAgent: userAgentOf(request),
  };
}

/** Asks for the person's password or code within a session; wrong ones count to the session. */
async function confirmed<Result>(
  deps: SignInDeps,
  request: Asked<ConsoleCaller>,
  work: (given: AuthRequest, accountId: Uuid) => Promise<Result>,
): Promise<Result> {
  const { caller } = request;
  const { id, accountId } = sessionOf(caller);
  return attempt(deps, sessionSubjects(id), () => work(authRequestOf(request, formOf(caller)), accountId));
}

function withSession<Body extends object>(form: CookieForm, result: SignedIn, body: Body) {
  if (!('session' in result)) throw new Error('a session was expected');
  return new Answer<200, Body>(200, { 'set-cookie': writeCookie(form, result.session) }, body);
}

const stepSeconds = 180;

function answerSignedIn(form: CookieForm, result: SignedIn) {
  const isDone = 'session' in result;
  const cookie = isDone ? writeCookie(form, result.session) : writeCookie(stepFormOf(form), result.step, stepSeconds);
  const next = isDone ? ('signed_in' as const) : ('second_factor' as const);
  return new Answer<200, { next: typeof next }>(200, { 'set-cookie': cookie }, { next });
}

async function enter(
  deps: SignInDeps,
  kind: 'setup' | 'invite' | 'reset',
  request: Asked<Visitor> & {
    readonly body: {
      readonly secret: string;
      readonly password: string;
      readonly email?: string | undefined;
      readonly name?: string | undefined;
      readonly organisation?: string | undefined;
    };
  },
) {
  const form = formOf(request.caller);
  const { address, body } = request;
  const token = await enterByLink(deps, kind, { ...body, address, userAgent: userAgentOf(request) });
  if (token === '') {
    return new Answer<200, { next: 'sign_in' }>(200, { 'set-cookie': clearCookie(form) }, { next: 'sign_in' });
  }
  deps.onSignIn();
  const cookie = writeCookie(form, signToken(deps.authSecret, token));
  return new Answer<200, { next: 'signed_in' }>(200, { 'set-cookie': cookie }, { next: 'signed_in' });
}
