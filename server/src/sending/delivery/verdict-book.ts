// Collects verdicts on devices and credentials by credential, and writes them once a second, apart
// from the batches. When the rows of a credential are locked, its verdicts are kept and tried again
// together with newer ones, and no other credential waits. Verdicts that a kill loses come again
// with the next push (decision 60).
import { setTimeout as sleep } from 'node:timers/promises';
import { isDatabaseDown } from '@carillon/postgres';
import { mintUuid, type Uuid } from '../../ground/values/ids.ts';
import { recordVerdicts } from './record-verdicts.ts';
import type { JudgeDeps, Verdict } from './verdict.ts';

export interface VerdictBook {
  /**
   * Takes the verdicts of a committed flush. `succeeded` names every credential that had a success.
   */
  note(appId: Uuid, verdicts: readonly Verdict[], succeeded: ReadonlySet<number>): void;
  /** While the book is full: resolves after the next attempt to write. Undefined otherwise. */
  untilRoom(): Promise<void> | undefined;
  /** Writes the verdicts that are in the book now. Resolves when all were tried. */
  settle(): Promise<void>;
  /** Writes the rest, in at most five seconds. For an orderly stop, after the last batch. */
  close(): Promise<void>;
}

const writeEveryMs = 1000;
/**
 * Some megabytes of verdicts. The book fills only while outcomes can be written and verdicts
 * cannot.
 */
const waitingMax = 50_000;
/** The verdicts of one transaction, which locks rows of devices for some ten milliseconds. */
const verdictsAtOnce = 1_000;
/**
 * Credentials written side by side, so that a credential with locked rows does not delay all
 * others.
 */
const credentialsAtOnce = 2;
const closeWithinMs = 5_000;
const closeAgainMs = 200;

/** The unwritten verdicts of one credential. */
interface Page {
  readonly appId: Uuid;
  readonly credentialId: number;
  hasWorked: boolean;
  verdicts: Verdict[];
  /** The hearing that was tried, of this number of first verdicts. */
  tried: { readonly id: Uuid; readonly count: number } | undefined;
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
      // A success noted during the write is written again later.
      const { hasWorked } = page;
      page.hasWorked = false;
      // A hearing that was tried is repeated with the same verdicts: it may have been judged, and the
      // answer lost.
      page.tried ??= { id: mintUuid(), count: Math.min(page.verdicts.length, verdictsAtOnce) };
      const { id, count } = page.tried;
      const { appId, credentialId } = page;
      try {
        await recordVerdicts(deps, { id, appId, credentialId, hasWorked, verdicts: page.verdicts.slice(0, count) });
        takeFirst(page, count);
      } catch (error) {
        page.hasWorked ||= hasWorked;
        onFailure(page, count, error);
        return;
      }
    } while (page.verdicts.length > 0);
    if (!page.hasWorked) pages.delete(key);
  };

  const takeFirst = (page: Page, count: number): void => {
    page.verdicts = page.verdicts.slice(count);
    page.tried = undefined;
    waiting -= count;
  };

  const onFailure = (page: Page, count: number, error: unknown): void => {
    const fields = { err: error, app_id: page.appId, credential_id: page.credentialId, verdicts: count };
    if (isDatabaseDown(error) || isBusy(error)) {
      deps.log.warn(fields, 'devices and credentials not judged yet');
      return;
    }
    // The group is dropped, because it would fail again each second. The next message finds dead
    // devices again.
    deps.log.error(fields, 'devices and credentials not judged');
    takeFirst(page, count);
    page.hasWorked = false;
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
    // Verdicts that came during the last write are written separately.
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
        await sleep(closeAgainMs);
      }
      clearTimeout(timer);
      if (pages.size > 0) deps.log.warn({ verdicts: waiting }, 'stopped before devices and credentials were judged');
    },
  };
}

/** Whether another transaction held a row, or no connection was free. */
function isBusy(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return /^(57014|40P01|55P03|53300|CONNECTION_BUSY)$/.test(String(code));
}
