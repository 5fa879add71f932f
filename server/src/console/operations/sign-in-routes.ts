// The areas Setup and Session, as far as they sign people in: by a link, or by password and second
// factor. The answers set the session's cookie in the form that the connection allows.
import { z } from 'zod';
import { ApiError } from '../../ground/http/api-error.ts';
import { ok } from '../../ground/http/route.ts';
import { component, instant, text } from '../../ground/http/schemas.ts';
import { Answer, type ApiRequest } from '../../ground/http/server.ts';
import type { Visit } from '../../teams/accounts/begin-session.ts';
import { changePassword } from '../../teams/accounts/change-password.ts';
import { type FailedSignIn, recordFailedSignIn } from '../../teams/accounts/failed-sign-in.ts';
import { browserSeconds, readBrowser, writeBrowser } from '../../teams/accounts/known-browser.ts';
import { emailOf, enterByLink, getLink } from '../../teams/accounts/links.ts';
import { attempt, type Guess, sessionSubjects, signInSubjects } from '../../teams/accounts/login-limit.ts';
import { passwordLength } from '../../teams/accounts/password.ts';
import {
  beginSecondFactor,
  confirmSecondFactor,
  removeSecondFactor,
  renewRecoveryCodes,
} from '../../teams/accounts/second-factor.ts';
import { type CookieForm, clearCookie, formFor, readCookie, writeCookie } from '../../teams/accounts/session-cookie.ts';
import { findAccountOfStep, finishSignIn, signIn, stepSeconds } from '../../teams/accounts/sign-in.ts';
import { signToken, tokenOf } from '../../teams/accounts/signed-token.ts';
import { firstOrganisationId } from '../../teams/apps/queries.ts';
import type { Audited } from '../../teams/audit/record-audit.ts';
import { type AreaDeps, routesOfOrganisation, routesOfVisitor } from './area.ts';
import { type ConsoleCaller, sessionOf, type Visitor } from './caller.ts';
import { done, emailAddress as email, oneLine, role } from './schemas.ts';

const password = text(passwordLength.max, passwordLength.min);
const secret = text(64, 1).describe('The part of the link after `#`.');
const code = text(32, 4);

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
  { can_sign_in: true, needs_setup: false, password: true, oidc: null, demo: true },
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
  { kind: 'invite', organisation: 'Shop', email: 'ben@shop.example', role: 'member', expires_at: null },
);
const entered = component(
  'Entered',
  z.strictObject({
    next: z
      .enum(['signed_in', 'second_factor', 'sign_in'])
      .describe('`second_factor`: send a code now. `sign_in`: it is done, and the second factor asks for a sign-in.'),
  }),
  { next: 'signed_in' },
);
const ownPassword = component('OwnPassword', z.strictObject({ password: text(1024, 1) }), { password: '…' });
const withCookie = { 'set-cookie': 'The session, or the step before the second factor.' };

const open = routesOfVisitor('Sign in');
const own = routesOfOrganisation('Session', { access: 'session', least: 'person' });

export const signInRoutes = [
  open('getWelcome', 'GET /welcome', {
    summary: 'What the sign-in page shows',
    answers: ok('The ways to sign in.', welcome),
  }).handle(async ({ hasOwner, oidc, hasDemo }, { caller }) => ({
    can_sign_in: caller.cookieForm !== null,
    needs_setup: !(await hasOwner()),
    password: oidc === null || !oidc.isOnly,
    oidc: oidc?.name ?? null,
    demo: await hasDemo(),
  })),
  open('getLink', 'POST /link', {
    summary: 'Read the purpose of a link',
    body: component('LinkSecret', z.strictObject({ secret }), { secret: 'Zp3…' }),
    answers: ok('The link is valid.', linkSchema),
    refusals: ['not_found'],
  }).handle(async (deps, { body }) => {
    const link = await getLink(deps, body.secret);
    const { kind, organisationName, expiresAt } = link;
    return { kind, organisation: organisationName, email: link.email, role: link.role, expires_at: expiresAt };
  }),
  open('setUp', 'POST /setup', {
    summary: 'Make the first owner and name the organisation, once',
    body: component('Setup', z.strictObject({ secret, organisation: oneLine, name: oneLine, email, password }), {
      secret: 'Zp3…',
      organisation: 'Shop',
      name: 'Anna',
      email: 'anna@shop.example',
      password: '…',
    }),
    answers: ok('Signed in.', entered, { headers: withCookie }),
    refusals: ['not_found', 'https_required'],
  }).handle(async (deps, request) => enter(deps, 'setup', request)),
  open('acceptInvite', 'POST /join', {
    summary: 'Accept an invitation',
    body: component('Join', z.strictObject({ secret, name: oneLine, email: email.optional(), password }), {
      secret: 'Zp3…',
      name: 'Ben',
      password: '…',
    }),
    answers: ok('Signed in.', entered, { headers: withCookie }),
    refusals: ['not_found', 'https_required'],
  }).handle(async (deps, request) => enter(deps, 'invite', request)),
  open('resetPassword', 'POST /reset', {
    summary: 'Set a new password by a reset link',
    body: component('Reset', z.strictObject({ secret, password }), { secret: 'Zp3…', password: '…' }),
    answers: ok('The password is set; all sessions have ended.', entered, { headers: withCookie }),
    refusals: ['not_found', 'https_required'],
  }).handle(async (deps, request) => enter(deps, 'reset', request)),
  open('signIn', 'POST /login', {
    summary: 'Sign in by e-mail address and password',
    body: component('Credentials', z.strictObject({ email, password: text(1024, 1) }), {
      email: 'anna@shop.example',
      password: '…',
    }),
    answers: ok('Signed in, or a code is needed.', entered, { headers: withCookie }),
    refusals: ['wrong_credentials', 'https_required', 'rate_limited'],
  }).handle(async (deps, request) => {
    const { caller, body } = request;
    const form = formOf(caller);
    const credentials = { email: emailOf(body.email), password: body.password };
    const result = await attempt(
      deps,
      guessOf(deps, request, { email: credentials.email, means: 'password' }),
      () => signIn(deps, credentials, visitOf(request)),
      // With a second factor the right password is not yet a success, because codes are counted
      // too.
      (signedIn) => 'session' in signedIn,
    );
    if ('session' in result) return signedIn(deps, request, credentials.email, result.session);
    const step = writeCookie(formFor(form, 'step'), signToken(deps.consoleKeys[0].step, result.step), stepSeconds);
    return new Answer<200, { next: 'second_factor' }>(200, { 'set-cookie': step }, { next: 'second_factor' });
  }),
  open('signInSecondFactor', 'POST /login/second-factor', {
    summary: 'Finish signing in by a code of the authenticator, or by a recovery code',
    body: component('SecondFactorCode', z.strictObject({ code, is_recovery: z.boolean().default(false) }), {
      code: '123456',
    }),
    answers: ok('Signed in.', entered, { headers: withCookie }),
    refusals: ['wrong_credentials', 'https_required', 'rate_limited'],
  }).handle(async (deps, request) => {
    const { body } = request;
    // The account comes from the step. If callers could name the account, they could guess under
    // another's name.
    const secret = stepOf(request);
    const email = (await findAccountOfStep(deps, secret))?.email ?? null;
    const shown = { secret, code: body.code.trim(), isRecovery: body.is_recovery };
    const guess = guessOf(deps, request, { email, means: body.is_recovery ? 'recovery_code' : 'code' });
    const token = await attempt(deps, guess, () => finishSignIn(deps, shown, visitOf(request)));
    return signedIn(deps, request, email ?? '', token);
  }),
];

export const secondFactorRoutes = [
  own('changePassword', 'POST /password', {
    summary: 'Change your password; your other sessions end',
    body: component('PasswordChange', z.strictObject({ current: text(1024, 1), next: password }), {
      current: '…',
      next: '…',
    }),
    answers: ok('Changed.', done, { headers: withCookie }),
    refusals: ['wrong_credentials'],
  }).handle(async (deps, request) => {
    const token = await confirmed(deps, request, 'password', (given) =>
      changePassword(given, sessionOf(request.caller), request.body, visitOf(request)),
    );
    return renewed(deps, request, token);
  }),
  own('beginSecondFactor', 'POST /2fa/enable', {
    summary: 'Make a second factor; it counts from its first code on',
    body: ownPassword,
    answers: ok(
      'The seed and the recovery codes, shown this once.',
      component('SecondFactor', z.strictObject({ uri: z.string(), recovery_codes: z.array(z.string()) }), {
        uri: 'otpauth://totp/…',
        recovery_codes: ['aB3dE-fG7hI'],
      }),
    ),
    refusals: ['wrong_credentials'],
  }).handle(async (deps, request) => {
    const made = await confirmed(deps, request, 'password', (given) =>
      beginSecondFactor(given, sessionOf(request.caller), request.body.password),
    );
    return { uri: made.uri, recovery_codes: [...made.recoveryCodes] };
  }),
  own('confirmSecondFactor', 'POST /2fa/verify', {
    summary: 'Show the first code of a new second factor',
    body: component('FirstCode', z.strictObject({ code }), { code: '123456' }),
    answers: ok('The second factor counts from now on.', done, { headers: withCookie }),
    refusals: ['wrong_credentials'],
  }).handle(async (deps, request) => {
    const token = await confirmed(deps, request, 'code', (given) =>
      confirmSecondFactor(given, sessionOf(request.caller), request.body.code.trim(), visitOf(request)),
    );
    return renewed(deps, request, token);
  }),
  own('removeSecondFactor', 'POST /2fa/disable', {
    summary: 'Remove your second factor',
    body: ownPassword,
    answers: ok('Removed.', done, { headers: withCookie }),
    refusals: ['wrong_credentials'],
  }).handle(async (deps, request) => {
    const token = await confirmed(deps, request, 'password', (given) =>
      removeSecondFactor(given, sessionOf(request.caller), request.body.password, visitOf(request)),
    );
    return renewed(deps, request, token);
  }),
  own('renewRecoveryCodes', 'POST /2fa/recovery-codes', {
    summary: 'Make new recovery codes; the former ones are void',
    body: ownPassword,
    answers: ok(
      'The codes, shown this once.',
      component('RecoveryCodes', z.strictObject({ recovery_codes: z.array(z.string()) }), {
        recovery_codes: ['aB3dE-fG7hI'],
      }),
    ),
    refusals: ['wrong_credentials'],
  }).handle(async (deps, request) => {
    const codes = await confirmed(deps, request, 'password', (given) =>
      renewRecoveryCodes(given, sessionOf(request.caller), request.body.password),
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

export function visitOf({ header, address }: Pick<Asked<Visitor>, 'header' | 'address'>): Visit {
  return { address, userAgent: header('user-agent')[0]?.slice(0, 256).toWellFormed() ?? null };
}

/** The secret of the browser's present step; null: there is none. */
function stepOf({ caller, header }: Asked<Visitor>): string | null {
  const cookie = readCookie(header('cookie'), formFor(formOf(caller), 'step').name);
  return cookie === undefined ? null : tokenOf(cookie);
}

/** The id of this browser, if the person with this address has signed in with it before. */
function browserOf(
  { consoleKeys, clock }: Pick<AreaDeps, 'consoleKeys' | 'clock'>,
  { caller, header }: Asked<Visitor>,
  email: string | null,
) {
  const cookie = readCookie(header('cookie'), formFor(formOf(caller), 'browser').name);
  return readBrowser(consoleKeys, cookie, email, clock.nowMs());
}

function guessOf(
  deps: AreaDeps,
  request: Asked<Visitor>,
  { email, means }: Pick<FailedSignIn, 'email' | 'means'>,
): Guess {
  const { address } = request;
  return {
    subjects: signInSubjects(email, address, browserOf(deps, request, email)),
    recordFailure: (tx) =>
      recordFailedSignIn({ ...deps, tx, organisationId: firstOrganisationId }, { email, address, means }),
  };
}

/** Checks the person's password or code within a session. Wrong ones count against the session. */
async function confirmed<Result>(
  deps: AreaDeps,
  { caller, address }: Asked<ConsoleCaller>,
  means: FailedSignIn['means'],
  work: (deps: AreaDeps & Audited) => Promise<Result>,
): Promise<Result> {
  const { id, email, organisationId } = sessionOf(caller);
  const guess: Guess = {
    subjects: sessionSubjects(id),
    recordFailure: (tx) => recordFailedSignIn({ ...deps, tx, organisationId }, { email, address, means }),
  };
  return attempt(deps, guess, () => work({ ...deps, by: caller.by }));
}

/** The session goes on under a new token. */
function renewed(
  { consoleKeys: [keys] }: Pick<AreaDeps, 'consoleKeys'>,
  { caller }: Asked<ConsoleCaller>,
  token: string,
) {
  const cookie = writeCookie(formOf(caller), signToken(keys.session, token));
  return new Answer<200, { done: true }>(200, { 'set-cookie': cookie }, { done: true });
}

/** Cookies of a new session, and of a browser that its person has signed in with from now on. */
export function sessionCookies(
  { consoleKeys: [keys], clock }: Pick<AreaDeps, 'consoleKeys' | 'clock'>,
  form: CookieForm,
  { token, email, browserId = null }: { readonly token: string; readonly email: string; browserId?: string | null },
): string[] {
  const browser = writeBrowser(keys.browser, email, clock.nowMs(), browserId);
  return [
    writeCookie(form, signToken(keys.session, token)),
    writeCookie(formFor(form, 'browser'), browser, browserSeconds),
  ];
}

function signedIn(deps: AreaDeps, request: Asked<Visitor>, email: string, token: string) {
  deps.onSignIn();
  const browserId = browserOf(deps, request, email);
  const cookies = sessionCookies(deps, formOf(request.caller), { token, email, browserId });
  return new Answer<200, { next: 'signed_in' }>(200, { 'set-cookie': cookies }, { next: 'signed_in' });
}

async function enter(
  deps: AreaDeps,
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
  const { email, token } = await enterByLink(deps, kind, { ...request.body, ...visitOf(request) });
  // The link proves the person, so the browser's count begins again.
  const [session, browser = ''] = sessionCookies(deps, form, { token: token ?? '', email });
  if (token === null) {
    const cookies = [clearCookie(form), browser];
    return new Answer<200, { next: 'sign_in' }>(200, { 'set-cookie': cookies }, { next: 'sign_in' });
  }
  deps.onSignIn();
  return new Answer<200, { next: 'signed_in' }>(200, { 'set-cookie': [session ?? '', browser] }, { next: 'signed_in' });
}
