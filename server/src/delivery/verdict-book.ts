// Collects what outcomes say of devices and credentials, by credential, and writes it once a second, apart from the batches it comes
// from. A credential whose rows are busy is tried again with whatever has been heard since; nothing of it is dropped, and no other
// credential waits for it. What a kill loses is said again by the next push (decision 60).
import { isDatabaseDown, isStatementTimeout } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import { beginHearing, type HearingProgress, type JudgeDeps, recordVerdicts, type Verdict } from './record-verdicts.ts';

export interface VerdictBook {
  /** Takes what a committed flush says. `succeeded`: credentials that worked beside the verdicts. */
  note(appId: Uuid, verdicts: readonly Verdict[], succeeded: ReadonlySet<number>): void;
  /** While so much waits that memory would grow: ends when there is room, or when the database has been asked again. */
  untilRoom(): Promise<void> | undefined;
  /** Writes what is there now. Resolves when all of it has been tried. */
  settle(): Promise<void>;
  /** At an orderly stop, when no batch is worked any more: writes what is left, for as long as a stop may take. */
  close(): Promise<void>;
}

const writeEveryMs = 1000;
/** Some megabytes. More come only while verdicts cannot be written and outcomes can. */
const waitingMax = 50_000;
/** In one transaction: rows of devices are held for some ten milliseconds. */
const verdictsAtOnce = 1_000;
/** Credentials written side by side: one whose rows are busy holds up no other. */
const credentialsAtOnce = 2;
const closeWithinMs = 5_000;
const closeAgainMs = 200;

/** What is not written yet of one credential. */
interface Page {
  readonly appId: Uuid;
  readonly credentialId: number;
  hasWorked: boolean;
  verdicts: Verdict[];
  /** The first verdicts, which have been tried, and which parts of them are committed. */
  tried: { count: number; readonly progress: HearingProgress } | undefined;
}

export function createVerdictBook(deps: JudgeDeps): VerdictBook {
  const pages = new Map<string, Page>();
  let waiting = 0;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;

  const pageOf = (appId: Uuid, credentialId: number): Page => {
    const key = `${appId} ${credentialId}`;
    let page = pages.get(key);
    if (!page) {
      page = { appId, credentialId, hasWorked: false, verdicts: [], tried: undefined };
      pages.set(key, page);
    }
    return page;
  };

  const writePage = async (key: string, page: Page): Promise<void> => {
    do {
      // Noted meanwhile, it is said again.
      const { hasWorked } = page;
      page.hasWorked = false;
      // What was tried before is tried again as it was.
      page.tried ??= { count: Math.min(page.verdicts.length, verdictsAtOnce), progress: beginHearing() };
      const some = page.verdicts.slice(0, page.tried.count);
      const { appId, credentialId } = page;
      try {
        await recordVerdicts(deps, { appId, credentialId, hasWorked, verdicts: some }, page.tried.progress);
        takeFirst(page);
      } catch (error) {
        page.hasWorked ||= hasWorked;
        onFailure(page, some, error);
        return;
      }
    } while (page.verdicts.length > 0);
    if (!page.hasWorked) pages.delete(key);
  };

  const takeFirst = (page: Page): void => {
    const count = page.tried?.count ?? 0;
    page.verdicts = page.verdicts.slice(count);
    page.tried = undefined;
    waiting -= count;
  };

  const onFailure = (page: Page, some: readonly Verdict[], error: unknown): void => {
    const fields = { err: error, app_id: page.appId, credential_id: page.credentialId, verdicts: some.length };
    if (!isDatabaseDown(error) && !isBusy(error)) {
      // It would fail again each second. A dead device is found dead by the next message.
      deps.log.error(fields, 'devices and credentials not judged');
      takeFirst(page);
      page.hasWorked = false;
      return;
    }
    deps.log.warn(fields, 'devices and credentials not judged yet');
    // A commit whose answer was lost may have counted a mismatch: counted twice it would retire a device too early.
    if (isBusy(error) || !page.tried || page.tried.progress.areDevicesJudged) return;
    const kept = some.filter(({ errorCode }) => errorCode !== 'credential_mismatch');
    page.verdicts = [...kept, ...page.verdicts.slice(some.length)];
    page.tried.count = kept.length;
    waiting -= some.length - kept.length;
  };

  const writeAll = async (): Promise<void> => {
    const all = [...pages].values();
    await Promise.all(
      Array.from({ length: credentialsAtOnce }, async () => {
        for (const [key, page] of all) await writePage(key, page);
      }),
    );
  };

  const write = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    writing ??= writeAll().finally(() => {
      writing = undefined;
      if (pages.size > 0) schedule();
    });
    return writing;
  };

  const schedule = (): void => {
    timer ??= setTimeout(() => void write(), writeEveryMs).unref();
  };

  const settle = async (): Promise<void> => {
    // What came while the last turn was under way has its own.
    await writing;
    if (pages.size > 0) await write();
  };

  return {
    note(appId, verdicts, succeeded) {
      for (const credentialId of succeeded) pageOf(appId, credentialId).hasWorked = true;
      for (const verdict of verdicts) pageOf(appId, verdict.credentialId).verdicts.push(verdict);
      waiting += verdicts.length;
      if (pages.size > 0 && !writing) schedule();
    },
    untilRoom: () => (waiting < waitingMax ? undefined : settle()),
    settle,
    async close() {
      const deadline = performance.now() + closeWithinMs;
      for (;;) {
        await settle();
        if (pages.size === 0 || performance.now() > deadline) break;
        await new Promise((resolve) => setTimeout(resolve, closeAgainMs));
      }
      clearTimeout(timer);
      if (pages.size > 0) deps.log.warn({ verdicts: waiting }, 'stopped before devices and credentials were judged');
    },
  };
}

/** Undone for certain, because somebody held a row: it may be tried again as it is. */
function isBusy(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return isStatementTimeout(error) || code === '40P01' || code === '55P03';
}
