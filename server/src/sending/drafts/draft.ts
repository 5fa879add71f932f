// A draft: a message that people prepare in the console, stored as they left it. It is checked only
// when it is sent.
import { z } from 'zod';
import { component, exampleOf, idSchema, instant, shownName, text } from '../../ground/http/schemas.ts';
import { isRecord } from '../../ground/values/is-record.ts';
import { issueOf } from '../../ground/values/issue.ts';

/** Drafts of an app at most: a guess with room for a large team. */
export const draftsMax = 500;

// The given object itself is kept, because a copy by the schema library would lose a key named
// `__proto__`.
export const draftMessage = z
  .unknown()
  .superRefine((value, context) => {
    if (isRecord(value)) return;
    context.issues.push(issueOf({ path: [], code: 'invalid_type', message: 'message must be an object.' }, value));
  })
  .transform((value) => value as Readonly<Record<string, unknown>>)
  .meta({
    type: 'object',
    additionalProperties: true,
    description: 'The fields of a message so far, in the form of POST /v1/messages; they need not be valid yet.',
  });

export const draftName = shownName(text(128));

export const draftId = component('DraftId', idSchema('drf'));
const listedFields = {
  id: draftId,
  name: z.string(),
  title: z.string().nullable().describe('The title of its content so far.'),
  changed_by: z.string(),
  created_at: instant,
  updated_at: instant,
};
export const listedDraft = component('ListedDraft', z.strictObject(listedFields), {
  id: 'drf_02y9GVDsTuJUi2BOoCH5G3',
  name: 'Autumn sale',
  title: 'Sale',
  changed_by: 'person anna@shop.example',
  created_at: '2026-11-21T10:15:30.123Z',
  updated_at: '2026-11-21T10:15:30.123Z',
});
export const draft = component(
  'Draft',
  z.strictObject({ ...listedFields, message: z.record(z.string(), z.unknown()) }),
  { ...exampleOf(listedDraft), message: { audience: { all: true }, content: { title: 'Sale', body: 'Now on' } } },
);
