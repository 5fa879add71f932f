// The area Single sign-on: the way to the provider of OpenID Connect and back. Both routes that a
// browser visits answer with a redirect, because a person sees the result. A refusal is a word in
// the address of the sign-in page.

import { transaction } from '@carillon/postgres';
import { z } from 'zod';
import { invalid, notFound } from '../../ground/http/api-error.ts';
import { ok } from '../../ground/http/route.ts';
import { component, text } from '../../ground/http/schemas.ts';
import { Answer } from '../../ground/http/server.ts';
import { recordFailedSignIn } from '../../teams/accounts/failed-sign-in.ts';
import { getLink } from '../../teams/accounts/links.ts';
import { OidcError } from '../../teams/accounts/oidc-client.ts';
import { beginProof, proofSeconds, readProof, readWaiting, writeWaiting } from '../../teams/accounts/oidc-proof.ts';
import { enterByOidc, linkIdentity } from '../../teams/accounts/oidc-sign-in.ts';
import { type CookieForm, clearCookie, formFor, readCookie, writeCookie } from '../../teams/accounts/session-cookie.ts';
import { firstOrganisationId } from '../../teams/apps/queries.ts';
import { type AreaDeps, type Oidc, routesOfOrganisation, routesOfVisitor } from './area.ts';
import { sessionOf } from './caller.ts';
import { done } from './schemas.ts';
import { formOf, sessionCookies, visitOf } from './sign-in-routes.ts';

/** The words that the sign-in page explains. */
const refusals =
  '`cancelled`, `failed`, `unavailable`, `unverified`, `not_invited`, `confirm` (sign in by password, then ' +
  '`POST /console/api/oidc/link`) or `https_required`';
const withCookie = { location: 'Where the browser goes.', 'set-cookie': 'The session, or the attempt.' };

const open = routesOfVisitor('Single sign-on');
const own = routesOfOrganisation('Single sign-on', { access: 'session' });

export const oidcRoutes = [
  open('beginOidc', 'GET /oidc/start', {
    summary: "Go to the provider's sign-in page",
    answers: {
      303: { description: 'To the provider, or back to the sign-in page where that fails.', headers: withCookie },
    },
    refusals: ['not_found'],
  }).handle(async (deps, { caller }) => {
    const oidc = oidcOf(deps);
    const form = caller.cookieForm;
    if (!form) return back('https_required');
    try {
      const { cookie, address } = await begin(deps, oidc, null);
      return new Answer<303>(303, { location: address, 'set-cookie': attempt(form, cookie) });
    } catch (error) {
      return back(explain(deps, error));
    }
  }),
  open('beginOidcByLink', 'POST /oidc/start', {
    summary: 'Begin a sign-in that accepts a set-up link or an invitation',
    body: component('OidcLink', z.strictObject({ secret: text(64, 1) }), { secret: 'Zp3…' }),
    answers: ok(
      "The address of the provider's sign-in page.",
      component('OidcStart', z.strictObject({ url: z.string() }), { url: 'https://login.shop.example/authorize?…' }),
      { headers: { 'set-cookie': 'The attempt.' } },
    ),
    refusals: ['not_found', 'https_required'],
  }).handle(async (deps, { caller, body }) => {
    const oidc = oidcOf(deps);
    const form = formOf(caller);
    const { kind } = await getLink(deps, body.secret);
    if (kind === 'reset') throw notFound('A link that resets a password is for the password.');
    const { cookie, address } = await begin(deps, oidc, body.secret).catch((error: unknown) => {
      throw invalid([{ path: [], code: 'invalid_value', message: `The provider is ${explain(deps, error)}.` }]);
    });
    return new Answer<200, { url: string }>(200, { 'set-cookie': attempt(form, cookie) }, { url: address });
  }),
  open('finishOidc', 'GET /oidc/callback', {
    summary: 'Come back from the provider',
    description: `Refusals lead to \`/console/sign-in?oidc=…\`: ${refusals}.`,
    ignoresUnknownQuery: true,
    readQuery: (given) => given,
    answers: { 303: { description: 'Into the console, or back to the sign-in page.', headers: withCookie } },
    refusals: ['not_found'],
  }).handle(async (deps, { caller, query, header, address }) => {
    const oidc = oidcOf(deps);
    const form = caller.cookieForm;
    if (!form) return back('https_required');
    const {
      consoleKeys: [keys],
      clock,
      txSql,
    } = deps;
    const refuse = async (reason: string, email: string | null, cookies: readonly string[]): Promise<Answer<303>> => {
      const failed = { email, address, means: 'oidc', reason } as const;
      await transaction(txSql, (tx) =>
        recordFailedSignIn({ ...deps, tx, organisationId: firstOrganisationId }, failed),
      );
      return back(reason, cookies);
    };
    const attemptForm = laxFor(form, 'oidc');
    const cookie = readCookie(header('cookie'), attemptForm.name);
    const begun = cookie === undefined ? undefined : readProof(keys, cookie, clock.nowMs());
    // A browser without the attempt's cookie was sent here by somebody else.
    if (!begun) return back('failed');
    const forget = clearCookie(attemptForm);
    try {
      const identity = await oidc.finish(new URLSearchParams({ ...query }), begun.proof);
      const entry = await enterByOidc(
        { ...deps, settings: oidc, organisationId: firstOrganisationId },
        { identity, link: begun.link, ...visitOf({ header, address }) },
      );
      if ('token' in entry) {
        deps.onSignIn();
        const cookies = [...sessionCookies(deps, form, entry), forget];
        return new Answer<303>(303, { location: '/console/', 'set-cookie': cookies });
      }
      if (entry.refusal !== 'confirm') return refuse(entry.refusal, null, [forget]);
      const { issuer, subject } = identity;
      const waiting = writeWaiting(keys, { issuer, subject, email: entry.email, atMs: entry.atMs });
      return refuse('confirm', entry.email, [forget, writeCookie(laxFor(form, 'identity'), waiting, proofSeconds)]);
    } catch (error) {
      return refuse(explain(deps, error), null, [forget]);
    }
  }),
];

export const oidcLinkRoutes = [
  own('linkOidc', 'POST /oidc/link', {
    least: 'person',
    summary: 'Link the identity that the provider named to your account, after you signed in by password',
    answers: ok('From now on the provider lets you in.', done, {
      headers: { 'set-cookie': 'Clears the identity that waited.' },
    }),
    refusals: ['not_found'],
  }).handle(async (deps, { caller, header }) => {
    oidcOf(deps);
    const form = laxFor(formOf(caller), 'identity');
    const cookie = readCookie(header('cookie'), form.name);
    const identity = cookie && readWaiting(deps.consoleKeys[0], cookie, deps.clock.nowMs());
    if (!identity) throw notFound('No identity waits to be linked: sign in by the provider again.');
    await linkIdentity({ ...deps, by: caller.by }, sessionOf(caller), identity);
    return new Answer<200, { done: true }>(200, { 'set-cookie': clearCookie(form) }, { done: true });
  }),
];

function oidcOf({ oidc }: Pick<AreaDeps, 'oidc'>): Oidc {
  if (!oidc) throw notFound('There is no sign-in by OpenID Connect here.');
  return oidc;
}

async function begin({ consoleKeys, clock }: Pick<AreaDeps, 'consoleKeys' | 'clock'>, oidc: Oidc, link: string | null) {
  const { cookie, proof } = beginProof(consoleKeys[0], clock.nowMs(), link);
  return { cookie, address: await oidc.begin(proof) };
}

/**
 * The provider sends the browser back from another site, and a browser sends no strict cookie then.
 */
function laxFor(form: CookieForm, use: 'oidc' | 'identity'): CookieForm {
  return { ...formFor(form, use), attributes: form.attributes.replace('SameSite=Strict', 'SameSite=Lax') };
}

function attempt(form: CookieForm, cookie: string): string {
  return writeCookie(laxFor(form, 'oidc'), cookie, proofSeconds);
}

function back(word: string, cookies: readonly string[] = []): Answer<303> {
  const location = `/console/sign-in?oidc=${word}`;
  return new Answer<303>(303, { location, ...(cookies.length > 0 && { 'set-cookie': [...cookies] }) });
}

/**
 * Logs why the provider let nobody in, and returns the word for the page. Other errors are thrown.
 */
function explain({ log }: Pick<AreaDeps, 'log'>, error: unknown): OidcError['reason'] {
  if (!(error instanceof OidcError)) throw error;
  const { message } = error.cause instanceof Error ? error.cause : error;
  // The cause itself may hold claims of a person.
  log.info({ reason: error.reason, message }, 'a sign-in by OpenID Connect failed');
  return error.reason;
}
