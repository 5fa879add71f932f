// Keeps a message as a draft of the service while it is composed, and when the page is left. Saves
// run one after the other; a draft that somebody else saved meanwhile is never overwritten unseen.
import { type RefObject, useEffect, useRef, useState } from 'react';
import { call, isKeptAlive, Problem } from '../../api/client.ts';
import type { Draft } from '../../api/objects.ts';
import { refresh } from '../../api/queries.ts';
import { isSame } from '../draft-merge.ts';
import type { MessageForm } from './message-form.ts';
import { mintId } from './mint-id.ts';

/**
 * A pause after which a draft is saved: a guess, short enough that a crash loses next to nothing.
 */
const pauseMs = 400;

const keptOn = { outlivesPage: true } as const;

export type KeptState =
  | { readonly kind: 'untouched' | 'saving' | 'saved' }
  | { readonly kind: 'changed'; readonly present: Draft }
  | { readonly kind: 'failed'; readonly error: unknown };

export interface KeptDraft {
  readonly state: KeptState;
  readonly draft: Draft | null;
  /** Continues with the text typed here, and overwrites what somebody else saved. */
  readonly keepMine: () => void;
  /** Deletes the draft, because its message was sent or the person discards it. */
  readonly discard: () => Promise<void>;
}

interface KeptOptions {
  readonly app: string;
  readonly form: MessageForm;
  /** The form with all input of its fields, also before the page is drawn again. */
  readonly newest: RefObject<MessageForm>;
  /** The form as it was when the page opened. */
  readonly initial: MessageForm;
  readonly opened: Draft | null;
  readonly onCreated: (draft: Draft) => void;
}

interface Work {
  /** The id of the next draft made here, so that a repeated save makes no second draft. */
  newId: string;
  draft: Draft | null;
  saved: MessageForm;
  /** A save without an answer, which the service may have stored. */
  unanswered: MessageForm | null;
  /** Somebody else saved the draft, and this person has not chosen yet. */
  isChanged: boolean;
  /** The page was left. Saves continue, and nothing is drawn. */
  isLeft: boolean;
  isOver: boolean;
  /** The saves that are under way. */
  under: Promise<void> | null;
}

export function useKeptDraft({ app, form, newest, initial, opened, onCreated }: KeptOptions): KeptDraft {
  const [draft, setDraft] = useState(opened);
  const [state, setState] = useState<KeptState>({ kind: opened ? 'saved' : 'untouched' });
  const work = useRef<Work>({
    newId: mintId('drf'),
    draft: opened,
    saved: initial,
    unanswered: null,
    under: null,
    isChanged: false,
    isLeft: false,
    isOver: false,
  });

  const isUnsaved = (now: Work): boolean => !now.isOver && !now.isChanged && !isSame(newest.current, now.saved);

  const save = async (now: Work): Promise<boolean> => {
    const sent = newest.current;
    setState({ kind: 'saving' });
    try {
      const message = sent as unknown as Record<string, unknown>;
      const unanswered = now.unanswered as unknown as Record<string, unknown> | null;
      const body = { name: sent.name ?? '', message, ...(unanswered && { unanswered }) };
      now.unanswered = sent;
      const isNew = now.draft === null;
      now.draft = now.draft
        ? await call(
            'saveDraft',
            { app, draft: now.draft.id, body: { ...body, updated_at: now.draft.updated_at } },
            keptOn,
          )
        : await call('createDraft', { app, body: { ...body, id: now.newId } }, keptOn);
      Object.assign(now, { saved: sent, unanswered: null });
      if (now.isOver) return false;
      void refresh('listDrafts', { app });
      if (now.isLeft) return true;
      setDraft(now.draft);
      setState({ kind: 'saved' });
      if (isNew) onCreated(now.draft);
      return true;
    } catch (error) {
      // Somebody deleted the draft, so the input continues in a new one.
      if (error instanceof Problem && error.status === 404 && now.draft !== null) {
        Object.assign(now, { newId: mintId('drf'), draft: null, unanswered: null });
        return true;
      }
      if (error instanceof Problem && error.status >= 400 && error.status < 500) now.unanswered = null;
      now.isChanged = error instanceof Problem && error.isChangedMeanwhile;
      setState(
        now.isChanged ? { kind: 'changed', present: (error as Problem).present as Draft } : { kind: 'failed', error },
      );
      return false;
    }
  };

  /** Saves until the service has the newest form. */
  const begin = (): void => {
    const now = work.current;
    if (now.under !== null || !isUnsaved(now)) return;
    const saveAll = async () => {
      while (isUnsaved(now) && (await save(now)));
    };
    now.under = saveAll().finally(() => {
      now.under = null;
    });
  };
  const beginLatest = useRef(begin);
  beginLatest.current = begin;

  // biome-ignore lint/correctness/useExhaustiveDependencies: a save begins a pause after the last change
  useEffect(() => {
    if (!isUnsaved(work.current)) return;
    const timer = setTimeout(() => beginLatest.current(), pauseMs);
    return () => clearTimeout(timer);
  }, [form]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: all that it reads are references that stay
  useEffect(() => {
    const now = work.current;
    now.isLeft = false;
    const onHide = (): void => {
      // The field in focus reports its last input.
      if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
      // A save under way may be answered too late for the next save.
      now.under = null;
      beginLatest.current();
    };
    // Only a large draft cannot be saved while the page ends.
    const onLeave = (event: BeforeUnloadEvent): void => {
      const isSettled = now.under === null && !isUnsaved(now);
      if (!isSettled && !isKeptAlive(newest.current)) event.preventDefault();
    };
    const onHidden = (): void => {
      if (document.visibilityState === 'hidden') beginLatest.current();
    };
    window.addEventListener('beforeunload', onLeave);
    window.addEventListener('pagehide', onHide);
    document.addEventListener('visibilitychange', onHidden);
    return () => {
      window.removeEventListener('beforeunload', onLeave);
      window.removeEventListener('pagehide', onHide);
      document.removeEventListener('visibilitychange', onHidden);
      now.isLeft = true;
      // The fields of the page report their last input while they close.
      queueMicrotask(() => now.isLeft && beginLatest.current());
    };
  }, []);

  return {
    state,
    draft,
    keepMine() {
      if (state.kind !== 'changed') return;
      work.current.draft = state.present;
      work.current.isChanged = false;
      setState({ kind: 'saving' });
      beginLatest.current();
    },
    async discard() {
      work.current.isOver = true;
      setState({ kind: 'saved' });
      // A draft that is being made now is known afterwards.
      await work.current.under;
      const { draft: stored } = work.current;
      if (stored) await call('deleteDraft', { app, draft: stored.id }).catch(() => undefined);
      await refresh('listDrafts', { app });
    },
  };
}
