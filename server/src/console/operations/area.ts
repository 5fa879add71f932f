// The console's API has three kinds of areas: of an app, of an organisation, and of a visitor. Each
// kind fixes who may call its routes, how their paths begin, and which parameters they share. The
// routes of all areas work with the same parts.

import type { OidcConfig } from '../../config.ts';
import type { Teller } from '../../ground/database/teller.ts';
import type { Log } from '../../ground/host/log.ts';
import type { Cursors } from '../../ground/http/page.ts';
import { type Area, type ParamForms, routesWith } from '../../ground/http/route.ts';
import type { ApiRequest } from '../../ground/http/server.ts';
import type { Turns } from '../../ground/http/turns.ts';
import type { Seal } from '../../ground/secrets/seal.ts';
import type { TimeZones } from '../../ground/values/time-zones.ts';
import type { NamesOf } from '../../insight/reports/report-fields.ts';
import type { FieldUses } from '../../people/audience/follow-use.ts';
import type { UserRequest } from '../../people/users/user.ts';
import type { ChannelId } from '../../sending/channels/channel.ts';
import type { AnswerForms } from '../../sending/delivery/answer-forms.ts';
import type { ReplayDeps } from '../../sending/delivery/replay-events.ts';
import type { SendRouteDeps } from '../../sending/messages/send-routes.ts';
import type { SendTestDeps } from '../../sending/messages/send-test.ts';
import type { EndpointUrlRules } from '../../sending/webhooks/endpoint-url.ts';
import type { PostDeps } from '../../sending/webhooks/post-event.ts';
import type { OidcClient } from '../../teams/accounts/oidc-client.ts';
import type { SignInDeps } from '../../teams/accounts/sign-in.ts';
import type { ConsoleKeys } from '../../teams/accounts/signed-token.ts';
import type { AppCaller, ConsoleCaller, Visitor } from './caller.ts';
import type { Feeds } from './feeds.ts';

/** The provider that people sign in with. */
export interface Oidc extends Pick<OidcConfig, 'isOnly' | 'domains' | 'role'>, OidcClient {}

/** The parts that the routes of the console work with. */
export interface AreaDeps extends SendRouteDeps, SignInDeps {
  readonly log: Log;
  readonly cursors: Cursors;
  readonly timeZones: TimeZones;
  readonly teller: Pick<Teller, 'tell'>;
  readonly seal: Seal;
  readonly publicUrl: string | null;
  readonly defaultPlan: string;
  /** Channels whose pushes go to a sandbox by the operator's settings. */
  readonly sandboxed: readonly ChannelId[];
  /** The operator's address for Google's access tokens, which a service account may name. */
  readonly fcmTokenUrl: string;
  readonly retentionDays: number;
  readonly forms: AnswerForms;
  readonly fieldUses: FieldUses;
  readonly feeds: Feeds;
  readonly isPaused: () => boolean;
  /** Sends one push by the normal path. */
  readonly sending: SendTestDeps;
  readonly ledger: ReplayDeps['ledger'];
  /** The guarded transport to webhooks, and its rules. */
  readonly posts: Omit<PostDeps, 'clock'> & { readonly rules: EndpointUrlRules };
  /** Called with the number of events that a replay has queued so far. */
  readonly onReplayed?: (queued: number) => void;
  /** Pages of an export wait for their turn among the other reads of the app. */
  readonly readTurns: Turns;
  /** Reads the body of an upsert, or throws the 400. */
  readonly parseUser: (body: unknown) => UserRequest;
  /** Names the messages of a report. */
  readonly namesOf?: NamesOf;
  /** The secrets of cookies: the first one signs, each of them verifies. */
  readonly consoleKeys: readonly [ConsoleKeys, ...ConsoleKeys[]];
  /** Null: there is no provider. */
  readonly oidc: Oidc | null;
  /** Whether a failed sign-in to no account is recorded: one of each network in a minute. */
  mayRecordStranger(address: string): boolean;
  readonly hasDemo: () => Promise<boolean>;
  readonly hasOwner: () => Promise<boolean>;
  /** Deletes the file of the first start's keys, once somebody has signed in. */
  onSignIn(): void;
}

/** Facts in which the areas of one kind differ. */
type Shared<Named extends string> = Partial<Pick<Area, 'access' | 'least'>> & { readonly params?: ParamForms<Named> };

const prefix = '/console/api';
const access = 'session-or-token';

export const appPrefix = `${prefix}/apps/:app`;
export const appParam = { app: { description: 'The id of an app.', example: 'app_02y9GVDsTuJUi2BOoCH5G3' } };

/** Routes that let people in. */
export function routesOfVisitor(tag: string) {
  return routesWith<AreaDeps, Visitor>({ tag, prefix, access: 'public' });
}

/** Routes of the caller's organisation, and of the caller. */
export function routesOfOrganisation<Named extends string = never>(tag: string, shared: Shared<Named> = {}) {
  return routesWith<AreaDeps, ConsoleCaller, Named>({ tag, prefix, access, ...shared });
}

/** Routes of one app, which their handlers find in `caller`. */
export function routesOfApp<Named extends string = never>(tag: string, shared: Shared<Named> = {}) {
  const params = { ...appParam, ...shared.params };
  return routesWith<AreaDeps, AppCaller, Named | 'app'>({ tag, prefix: appPrefix, access, ...shared, params });
}

/** The `within` of routes that count or report: their work waits for a turn of the organisation. */
export function inCountTurn<Result>(
  { countTurns }: { readonly countTurns: Turns },
  { caller, aside }: ApiRequest<ConsoleCaller>,
  work: () => Promise<Result>,
): Promise<Result> {
  return aside(() => countTurns.run(caller.organisationId, work));
}
