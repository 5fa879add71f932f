// The feeds that are open in this process. Feeds of one source share one look a second and its
// changes. No source is read while it has no feed. A feed ends with its session, its token or its
// app, or when the role becomes too low.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Log } from '../../ground/host/log.ts';
import { ApiError } from '../../ground/http/api-error.ts';
import { type EventReader, EventStream } from '../../ground/http/event-stream.ts';
import type { Turns } from '../../ground/http/turns.ts';
import { decodeId, type Uuid } from '../../ground/values/ids.ts';
import { listPresentCallers } from '../../teams/accounts/queries.ts';
import { isAtLeast, type Role } from '../../teams/accounts/roles.ts';
import { lacksSecondFactor } from '../../teams/accounts/session.ts';
import { listLivingApps } from '../../teams/apps/queries.ts';
import type { AppCaller } from './caller.ts';

/** A source that is read again and again. It remembers its last look. */
export interface Source {
  /** Looks, and returns what has changed since the last look. The first look returns nothing. */
  look(): Promise<readonly object[]>;
  /** The whole state as of the last look. A new feed begins with it. */
  state(): object;
}

export interface Feeds {
  /**
   * Opens a feed. Feeds of one app and name share a source. Throws the 429 for a caller with too
   * many feeds, and the 503 when this process has too many.
   */
  open(caller: AppCaller, least: Role, name: string, begin: () => Source): EventStream;
}

export interface FeedDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  /** A look waits for a turn among the reads of its app, and holds it for one moment. */
  readonly readTurns: Turns;
}

/** Tabs of one browser share one feed, so few browsers and scripts of a person need more. */
const feedsOfCallerMax = 10;
/** Half of a process's feeds (a guess): a company with 200 watching people must be served. */
const feedsOfOrganisationMax = 250;
const feedsMax = 500;
const lookEveryMs = 1000;
/**
 * A slow look is repeated less often, so that a source never uses more than a tenth of a
 * connection.
 */
const restPerLook = 9;
const checkEveryMs = 2000;

interface Feed {
  readonly caller: AppCaller;
  readonly holder: Holder;
  readonly least: Role;
  readonly reader: EventReader;
  /** False until the whole state has been sent. */
  hasState: boolean;
}

/** The session or the operator token that opened a feed. */
interface Holder {
  readonly kind: 'session' | 'token';
  readonly id: Uuid;
}

interface Watched {
  readonly source: Source;
  readonly feeds: Set<Feed>;
  hasLooked: boolean;
  timer: NodeJS.Timeout | undefined;
}

export function createFeeds({ sql, clock, log, readTurns }: FeedDeps): Feeds {
  const watched = new Map<string, Watched>();
  /**
   * The open feeds. A feed opens a moment after it was allowed, so several at once may exceed the
   * limits.
   */
  const feeds = new Set<Feed>();
  let checking: NodeJS.Timeout | undefined;

  const lookAgain = async (key: string, appId: Uuid, one: Watched): Promise<void> => {
    const startedAt = performance.now();
    try {
      const changes = await readTurns.run(appId, () => one.source.look());
      one.hasLooked = true;
      const texts = changes.map((change) => JSON.stringify(change));
      const state = [...one.feeds].some(({ hasState }) => !hasState) ? JSON.stringify(one.source.state()) : '';
      for (const feed of one.feeds) {
        if (feed.hasState) for (const text of texts) feed.reader.send(text);
        else feed.reader.send(state);
        feed.hasState = true;
      }
    } catch (error) {
      // The next look tells what has changed since the last one that succeeded.
      log.debug({ err: error, source: key }, 'a feed could not look');
    }
    if (watched.get(key) !== one) return;
    const tookMs = performance.now() - startedAt;
    one.timer = setTimeout(() => void lookAgain(key, appId, one), Math.max(lookEveryMs - tookMs, tookMs * restPerLook));
    one.timer.unref();
  };

  const check = async (): Promise<void> => {
    const open = [...feeds];
    if (open.length === 0) return;
    const holdersOf = (kind: Holder['kind']): Uuid[] => [
      ...new Set(open.flatMap(({ holder }) => (holder.kind === kind ? [holder.id] : []))),
    ];
    const [sessionIds, tokenIds] = [holdersOf('session'), holdersOf('token')];
    const callers = await listPresentCallers(sql, clock, { sessionIds, tokenIds });
    const apps = await listLivingApps(sql, [...new Set(open.map(({ caller }) => caller.app.id))]);
    for (const { caller, holder, least, reader } of open) {
      const present = callers.get(holder.id);
      const mayRead =
        present?.organisationId === caller.organisationId &&
        isAtLeast(present.role, least) &&
        !lacksSecondFactor(present) &&
        apps.has(caller.app.id);
      if (!mayRead) reader.end();
    }
  };
  const checkAgain = (): void => {
    checking = setTimeout(() => {
      check()
        .catch((error: unknown) => log.debug({ err: error }, 'the callers of feeds cannot be checked'))
        .finally(() => {
          checking = undefined;
          if (feeds.size > 0) checkAgain();
        });
    }, checkEveryMs);
    checking.unref();
  };

  return {
    open(caller, least, name, begin) {
      const ofCaller = [...feeds].filter((feed) => feed.caller.by.id === caller.by.id).length;
      if (ofCaller >= feedsOfCallerMax) {
        const message = `The limit of ${feedsOfCallerMax} open feeds is reached. Close one.`;
        throw new ApiError('rate_limited', { message, retryAfterMs: checkEveryMs });
      }
      const ofOrganisation = [...feeds].filter((feed) => feed.caller.organisationId === caller.organisationId).length;
      if (ofOrganisation >= feedsOfOrganisationMax || feeds.size >= feedsMax) {
        throw new ApiError('unavailable', { retryAfterMs: 10_000 });
      }
      return new EventStream((reader) => {
        const appId = caller.app.id;
        const key = `${appId} ${name}`;
        const feed: Feed = { caller, holder: holderOf(caller), least, reader, hasState: false };
        feeds.add(feed);
        if (checking === undefined) checkAgain();
        let one = watched.get(key);
        if (one) {
          one.feeds.add(feed);
          if (one.hasLooked) {
            feed.hasState = true;
            reader.send(JSON.stringify(one.source.state()));
          }
        } else {
          one = { source: begin(), feeds: new Set([feed]), hasLooked: false, timer: undefined };
          watched.set(key, one);
          void lookAgain(key, appId, one);
        }
        const ofSource = one;
        return () => {
          feeds.delete(feed);
          ofSource.feeds.delete(feed);
          if (ofSource.feeds.size > 0) return;
          clearTimeout(ofSource.timer);
          watched.delete(key);
        };
      });
    },
  };
}

function holderOf({ session, by }: AppCaller): Holder {
  if (session) return { kind: 'session', id: session.id };
  return { kind: 'token', id: decodeId('tok', by.id ?? '') ?? '' };
}
