// The process's memory of answer forms (design 4): which success answers have a number, and which
// were seen once and get a number when they repeat.
import { createHash } from 'node:crypto';
import type { Sql } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { ProviderAnswer } from '../channels/channel.ts';
import {
  type AnswerPattern,
  type FormedAnswer,
  fillForm,
  formsMax,
  patternOf,
  refWithin,
  takeForm,
} from './answer-form.ts';
import { insertAnswerForm, listAnswerForms } from './outcome-queries.ts';
import { packRef, unpackRef } from './packed-ref.ts';

/** How a row stores a success: the form's number and the reference, or the whole answer. */
export type StoredSuccess =
  | { readonly form: number; readonly ref: string }
  | { readonly form: null; readonly ref: string | null };

export interface AnswerForms {
  /**
   * Returns a value, not a promise, for a success of the same form as its credential's last one.
   * Nearly all are.
   */
  store(
    appId: Uuid,
    credentialId: number,
    answer: ProviderAnswer,
    providerMessageId: string | null,
  ): StoredSuccess | Promise<StoredSuccess>;
  /** The answer that a row stores; undefined for an unknown form. */
  read(
    appId: Uuid,
    credentialId: number,
    form: number,
    name: ProviderAnswer['name'],
    ref: string,
  ): Promise<{ answer: ProviderAnswer; providerMessageId: string } | undefined>;
}

interface AppForms {
  readonly numbers: Map<string, number>;
  readonly texts: Map<string, string>;
  readonly seenOnce: Set<string>;
  /** By credential, the last success of a known form. Nearly always the next success is like it. */
  readonly last: Map<number, { readonly pattern: AnswerPattern; readonly form: number }>;
}

const appsMax = 1000;
const seenOnceMax = 500;

export function createAnswerForms({ sql }: { sql: Sql }): AnswerForms {
  const apps = new Map<Uuid, Promise<AppForms>>();
  /** The entries of `apps` that are loaded, by app. */
  const loaded = new Map<Uuid, AppForms>();

  const load = async (appId: Uuid): Promise<AppForms> => {
    const forms: AppForms = { numbers: new Map(), texts: new Map(), seenOnce: new Set(), last: new Map() };
    for (const row of await listAnswerForms(sql, appId)) {
      forms.numbers.set(`${row.credentialId} ${row.form}`, row.id);
      forms.texts.set(`${row.credentialId} ${row.id}`, row.form);
    }
    if (loaded.size >= appsMax) loaded.clear();
    loaded.set(appId, forms);
    return forms;
  };
  const formsOf = (appId: Uuid): Promise<AppForms> => {
    let forms = apps.get(appId);
    if (!forms) {
      if (apps.size >= appsMax) apps.clear();
      forms = load(appId);
      forms.catch(() => apps.delete(appId));
      apps.set(appId, forms);
    }
    return forms;
  };

  const learn = async (appId: Uuid, credentialId: number, taken: FormedAnswer): Promise<number | undefined> => {
    const forms = await formsOf(appId);
    const key = `${credentialId} ${taken.form}`;
    if (!forms.seenOnce.has(key)) {
      if (forms.seenOnce.size >= seenOnceMax) forms.seenOnce.clear();
      forms.seenOnce.add(key);
      return undefined;
    }
    const hash = createHash('sha256').update(taken.form).digest();
    const id = await insertAnswerForm(sql, appId, { credentialId, form: taken.form, hash, formsMax });
    if (id === undefined) return undefined;
    forms.numbers.set(key, id);
    forms.texts.set(`${credentialId} ${id}`, taken.form);
    return id;
  };

  const storeAnew = async (
    appId: Uuid,
    credentialId: number,
    answer: ProviderAnswer,
    providerMessageId: string | null,
  ): Promise<StoredSuccess> => {
    const forms = await formsOf(appId);
    const taken = takeForm(answer, providerMessageId);
    if (!taken || providerMessageId === null) return { form: null, ref: providerMessageId };
    const known = forms.numbers.get(`${credentialId} ${taken.form}`) ?? (await learn(appId, credentialId, taken));
    if (known === undefined) return { form: null, ref: providerMessageId };
    const pattern = patternOf(answer, providerMessageId, taken.ref);
    if (pattern) forms.last.set(credentialId, { pattern, form: known });
    return { form: known, ref: packRef(taken.ref) };
  };

  return {
    store(appId, credentialId, answer, providerMessageId) {
      const last = loaded.get(appId)?.last.get(credentialId);
      const likeLast = last && refWithin(last.pattern, answer, providerMessageId);
      if (last && likeLast !== undefined) return { form: last.form, ref: packRef(likeLast) };
      return storeAnew(appId, credentialId, answer, providerMessageId);
    },
    async read(appId, credentialId, form, name, ref) {
      const key = `${credentialId} ${form}`;
      const seen = formsOf(appId);
      let text = (await seen).texts.get(key);
      if (text === undefined) {
        // Another process added the form after this process had loaded. One reader loads again, and
        // the other readers wait for the same load.
        if (apps.get(appId) === seen) apps.delete(appId);
        text = (await formsOf(appId)).texts.get(key);
      }
      return text === undefined ? undefined : fillForm(name, text, unpackRef(ref));
    },
  };
}
