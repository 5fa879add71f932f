// Compose: a new message, or one that starts from a draft, a template, another message or a
// segment, as the address says.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate, useSearchParams } from 'react-router';
import { call } from '../api/client.ts';
import type { Draft } from '../api/objects.ts';
import { ownKey, queryClient } from '../api/queries.ts';
import { useAppId } from '../api/session.ts';
import '../components/compose/compose.css';
import { Composer, type Start } from '../components/compose/composer.tsx';
import { duplicateOf, emptyForm, readForm } from '../components/compose/message-form.ts';
import { Loaded } from '../components/loaded.tsx';
import { paths } from '../paths.ts';
import { PageHead } from '../ui/page-head.tsx';

export function Compose() {
  const app = useAppId();
  const navigate = useNavigate();
  const [params] = useSearchParams();
  const search = params.toString();
  // A draft that this page made changes the address, which must not restart the page.
  const [own, setOwn] = useState<{ readonly key: string; readonly draft: string } | null>(null);
  const [turn, setTurn] = useState(0);
  const origin = own !== null && params.get('draft') === own.draft ? own.key : search;
  const start = useQuery({
    queryKey: ownKey('compose', { app, origin, turn }),
    queryFn: () => readStart(app, new URLSearchParams(origin)),
    // A form must not change while somebody types into it.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  return (
    <>
      {start.data === undefined && <PageHead title="Compose" answer={null} />}
      <Loaded query={start}>
        {(data) => (
          <Composer
            key={`${origin} ${turn}`}
            app={app}
            start={data}
            onDraft={(draft) => {
              setOwn({ key: origin, draft: draft.id });
              void navigate(paths.compose(app, { draft: draft.id }), { replace: true, preventScrollReset: true });
            }}
            onReplaced={(draft) => {
              setOwn(null);
              setTurn((before) => before + 1);
              queryClient.setQueryData<Start>(
                ownKey('compose', { app, origin: String(new URLSearchParams({ draft: draft.id })), turn: turn + 1 }),
                ofDraft(draft),
              );
            }}
          />
        )}
      </Loaded>
    </>
  );
}

/** The name of a draft may be stored beside its message. */
const ofDraft = (draft: Draft): Start => ({
  form: readForm({ ...(draft.name !== '' && { name: draft.name }), ...draft.message }),
  draft,
  template: null,
});

async function readStart(app: string, params: URLSearchParams): Promise<Start> {
  const [draft, message, template] = [params.get('draft'), params.get('message'), params.get('template')];
  if (draft) return ofDraft(await call('getDraft', { app, draft }));
  if (message) {
    const form = duplicateOf(await call('getMessage', { app, id: message }));
    return { form, draft: null, template: null };
  }
  if (template) {
    const version = params.get('version');
    // A new version follows the newest one, even if the message starts from an older version.
    const [newest, older] = await Promise.all([
      call('getTemplate', { app, template }),
      version ? call('getTemplateVersion', { app, template, version }) : null,
    ]);
    const { content } = older ?? newest;
    return { form: { ...emptyForm, content }, draft: null, template: newest };
  }
  const segment = params.get('segment');
  const audience = segment ? { segment_id: segment } : emptyForm.audience;
  return { form: { ...emptyForm, audience }, draft: null, template: null };
}
