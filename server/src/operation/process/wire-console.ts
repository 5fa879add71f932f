// The console within a process: its routes with their dependencies, and the guard before them.
import { rm } from 'node:fs/promises';
import type { Config } from '../../config.ts';
import type { Oidc } from '../../console/operations/area.ts';
import { refuseGuest } from '../../console/operations/caller.ts';
import { createFeeds } from '../../console/operations/feeds.ts';
import { createGuard } from '../../console/operations/guard.ts';
import { createConsoleLimits } from '../../console/operations/limits.ts';
import { consoleRoutes } from '../../console/operations/routes.ts';
import { bindConsole } from '../../console/operations/serve.ts';
import { demoAppName } from '../../console/pages/demo-app.ts';
import type { Clock } from '../../ground/database/clock.ts';
import type { BoundRoute, RequestHead } from '../../ground/http/server.ts';
import { createProviderFetch } from '../../ground/outbound/provider-fetch.ts';
import { askRarely } from '../../ground/pacing/ask-rarely.ts';
import { createUserParser } from '../../people/users/user.ts';
import { createAcceptMessage } from '../../sending/messages/accept-message.ts';
import { createFactorSeal } from '../../teams/accounts/factor-seal.ts';
import { hasOwner } from '../../teams/accounts/link-queries.ts';
import { createOidcClient } from '../../teams/accounts/oidc-client.ts';
import type { Passwords } from '../../teams/accounts/password.ts';
import { resealSecondFactors } from '../../teams/accounts/second-factor.ts';
import { consoleKeysOf } from '../../teams/accounts/signed-token.ts';
import { type Caller, nobody } from '../../teams/apps/caller.ts';
import type { KeyLookups } from '../../teams/apps/key-lookups.ts';
import { findAppsByName } from '../../teams/apps/queries.ts';
import type { AddressLimits } from '../../teams/quotas/address-limit.ts';
import type { Plan, Plans } from '../../teams/quotas/plan.ts';
import { createRateLimit } from '../../teams/quotas/rate-limit.ts';
import { metricsRoutes } from '../metrics/routes.ts';
import type { HttpDeps } from './api-routes.ts';
import { firstRunFile } from './first-start.ts';
import type { Foundation } from './foundation.ts';
import type { MasterKeys } from './master-key.ts';
import { sandboxedChannels } from './sandboxed-channels.ts';
import type { Sending } from './sending.ts';

/** Requests a second of one operator token (contract 19). */
const operatorPlan: Plan = { name: 'operator', skPerSecond: 60, ckPerSecond: null, quota: null };
const demoAskedEveryMs = 5000;
const operatorPlans: Plans = new Map([[operatorPlan.name, operatorPlan]]);

export interface ConsoleParts {
  readonly foundation: Foundation;
  readonly sending: Pick<Sending, 'run' | 'endpointRules' | 'webhooks'>;
  readonly addressLimits: AddressLimits;
  /** The look-ups of credentials that anybody can invent: API keys, operator tokens and cookies. */
  readonly lookups: KeyLookups;
  readonly masterKeys: MasterKeys;
  readonly passwords: Passwords;
  /** The parts of the routes of /v1. The console uses many of them. */
  readonly parts: HttpDeps;
}

/** Makes the routes of the console, which stand beside those of /v1. */
export function wireConsole({
  foundation,
  sending,
  addressLimits,
  lookups,
  masterKeys,
  passwords,
  parts,
}: ConsoleParts): BoundRoute<Caller>[] {
  const { config, databases, clock, log, seal } = foundation;
  const { promptSql, sql, txSql, waitMs } = databases;
  const { publicUrl } = config;
  const admitToken = createRateLimit({ sql: promptSql, clock, plans: operatorPlans, waitMs });
  const consoleKeys = consoleKeysOf(masterKeys);
  const factors = createFactorSeal(seal, masterKeys);
  const limits = createConsoleLimits(clock);
  const guard = createGuard({
    sql,
    txSql,
    clock,
    publicUrl,
    lookups,
    consoleKeys,
    admitToken: (organisationId, tokenId) =>
      admitToken({ ...nobody, appId: organisationId, keyId: tokenId, scope: 'server', plan: operatorPlan.name }),
    limits,
    delayUnauthorized: addressLimits.delayUnauthorized,
  });
  let [isFirstRunKept, isOwned] = [true, false];
  const accept = parts.metrics.countAccepted(createAcceptMessage(parts));
  const deps = {
    ...parts,
    accept,
    wait: parts,
    forms: sending.run.forms,
    parseUser: createUserParser(parts.timeZones),
    publicUrl,
    defaultPlan: config.defaultPlan,
    fcmTokenUrl: config.fcmTokenUrl,
    sandboxed: sandboxedChannels(config),
    passwords,
    factors,
    consoleKeys,
    mayRecordStranger: limits.mayRecordStranger,
    log,
    oidc: oidcOf(config, sending.endpointRules, clock),
    feeds: createFeeds({ sql, clock, log, readTurns: parts.readTurns }),
    posts: { http: sending.webhooks.http, rules: sending.endpointRules },
    sending: {
      accept,
      wait: parts,
      timeline: sending.run,
      audit: { txSql, clock },
    },
    hasDemo: askRarely(async () => (await findAppsByName(sql, demoAppName)).length > 0, {
      everyMs: demoAskedEveryMs,
      steadyMs: clock.steadyMs,
    }),
    // There is always an owner from then on, so `true` can be remembered.
    async hasOwner() {
      isOwned ||= await hasOwner(sql);
      return isOwned;
    },
    // The first keys were kept because nobody could sign in yet.
    onSignIn() {
      if (!isFirstRunKept) return;
      isFirstRunKept = false;
      rm(firstRunFile(config), { force: true }).catch((error: unknown) =>
        log.warn({ err: error }, 'the file with the first keys is not deleted'),
      );
    },
  };
  // Second factors of earlier releases are sealed like every secret from now on.
  resealSecondFactors({ sql, factors }, 'v1.').then(
    ({ unreadable }) => {
      if (unreadable.length > 0) log.error({ unreadable }, 'no master key opens these second factors');
    },
    (error: unknown) => log.warn({ err: error }, 'the second factors of an earlier release are not sealed again'),
  );
  const metrics = { id: 'getMetrics', access: 'session' as const, least: 'viewer' };
  // The metrics are of all organisations. The first one runs the service.
  const admitOperator = async (head: RequestHead): Promise<void> => {
    const { caller } = await guard.caller(head, metrics);
    refuseGuest(caller, 'see the metrics');
  };
  return [
    ...bindConsole<Caller>(consoleRoutes, { deps, guard }),
    ...metricsRoutes<Caller>({
      metricsToken: parts.metricsToken,
      admitPerson: config.metricsPort === null ? admitOperator : null,
      readMetrics: parts.readMetrics,
    }),
  ];
}

/** Null without a provider, and without the PUBLIC_URL that the provider sends people back to. */
function oidcOf(
  { oidc: settings, publicUrl }: Config,
  rules: Sending['endpointRules'],
  { steadyMs }: Clock,
): Oidc | null {
  if (settings === null || publicUrl === null) return null;
  const redirectUri = `${publicUrl}/console/api/oidc/callback`;
  const fetch = createProviderFetch(new URL(settings.issuer), rules);
  const { isOnly, domains, role } = settings;
  return { ...createOidcClient({ settings, redirectUri, fetch, steadyMs }), isOnly, domains, role };
}
