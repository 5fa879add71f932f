// The whole composer: audience, content and previews in three columns, and below them the time and
// the send. On a phone the columns are steps.
import { Alert, Button, Group, SegmentedControl } from '@mantine/core';
import { useDisclosure, useMediaQuery } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useCallback, useRef, useState } from 'react';
import { useNavigate } from 'react-router';
import type { Draft, MessageAnswer } from '../../api/objects.ts';
import { refresh } from '../../api/queries.ts';
import { paths } from '../../paths.ts';
import { PageHead } from '../../ui/page-head.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { tellAuthor } from '../author.ts';
import { isComplete } from '../filter-builder/is-complete.ts';
import { useLiveCount } from '../filter-builder/live-count.tsx';
import { toTree } from '../filter-builder/tree.ts';
import { LeaveGuard } from '../leave-guard.tsx';
import { ProblemPanel } from '../problem.tsx';
import { ForTeam } from './for-team.tsx';
import { Library } from './library.tsx';
import {
  contentOf,
  isEmptyContent,
  isNamed,
  kindOf,
  languageOf,
  type MessageForm,
  type Place,
  readForm,
} from './message-form.ts';
import { Previews, type Reader, useRendering } from './previews.tsx';
import { SaveTemplate, type SeenTemplate } from './save-template.tsx';
import { Send } from './send.tsx';
import { Tests } from './tests.tsx';
import { useDryRun, useLeastRate } from './use-dry-run.ts';
import { type KeptDraft, useKeptDraft } from './use-kept-draft.ts';
import { useVariables } from './variables.ts';
import { What } from './what.tsx';
import { When } from './when.tsx';
import { Who } from './who.tsx';

export interface Start {
  readonly form: MessageForm;
  readonly draft: Draft | null;
  /** The template from which the content comes, perhaps in an older version. */
  readonly template: SeenTemplate | null;
}

interface ComposerProps {
  readonly app: string;
  readonly start: Start;
  readonly onDraft: (draft: Draft) => void;
  readonly onReplaced: (draft: Draft) => void;
}

const steps = ['Who', 'What', 'Preview', 'Send'] as const;
type Step = (typeof steps)[number];

export function Composer({ app, start, onDraft, onReplaced }: ComposerProps) {
  const navigate = useNavigate();
  const [form, setForm] = useState(start.form);
  const [isScheduled, setScheduled] = useState(Boolean(start.form.send_at));
  const [reader, setReader] = useState<Reader>({ externalId: '', language: null });
  const [place, setPlace] = useState<Place>('all');
  // The texts of a language are counted and drawn while they are written.
  const choosePlace = (next: Place) => {
    const [former, language] = [languageOf(place), languageOf(next)];
    setPlace(next);
    setReader((now) => (language !== null || now.language === former ? { ...now, language } : now));
  };
  const [step, setStep] = useState<Step>('Who');
  const [isLibraryOpen, library] = useDisclosure(false);
  const [isSavingTemplate, template] = useDisclosure(false);
  const [seenTemplates, setSeenTemplates] = useState<ReadonlyMap<string, SeenTemplate>>(
    () => new Map<string, SeenTemplate>(start.template === null ? [] : [[start.template.id, start.template]]),
  );
  const isPhone = useMediaQuery('(max-width: 900px)', false, { getInitialValueInEffect: false });

  // Fields still report their last input when the page is closed and not drawn any more.
  const newest = useRef(start.form);
  const change = useCallback((fields: Partial<MessageForm>) => {
    newest.current = { ...newest.current, ...fields };
    setForm(newest.current);
  }, []);
  const changeContent = useCallback(
    (edit: (content: MessageForm['content']) => MessageForm['content']) =>
      change({ content: edit(newest.current.content) }),
    [change],
  );
  const content = contentOf(form);
  const kept = useKeptDraft({ app, form, newest, initial: start.form, opened: start.draft, onCreated: onDraft });
  const rendering = useRendering(app, content, reader);
  const tried = useDryRun(app, form);
  const leastRate = useLeastRate(app, form);
  const variables = useVariables(app);
  const excluded = form.exclude_segment_id ?? null;
  // The builder counts its own filter. This count is without the excluded segment.
  const isFilter = kindOf(form.audience) === 'filter';
  const isCounted =
    isNamed(form.audience) && (!isFilter || (excluded !== null && isCompleteFilter(form.audience.filter)));
  const live = useLiveCount(
    app,
    isCounted ? ({ audience: form.audience, ...(excluded && { exclude_segment_id: excluded }) } as never) : null,
  );
  const isEmpty = isEmptyContent(form.content);
  const isReady = !isEmpty && rendering.error === null;
  const aboutAudience = (tried.answer?.warnings ?? []).filter(({ code }) => code === 'channel_not_configured');
  const errorAt = (field: string) => tried.issues.find(({ path }) => path[0] === field)?.message;
  const sendAtIssue = errorAt('send_at');
  const rateIssue =
    errorAt('per_second') ?? tried.answer?.warnings.find(({ code }) => code === 'rate_too_low')?.message;

  const onSent = async (answer: MessageAnswer) => {
    await kept.discard();
    await refresh('listMessages', { app });
    if (!('id' in answer)) return;
    notifications.show({
      message: answer.status === 'scheduled' ? 'The message is scheduled.' : 'The message is sent.',
    });
    await navigate(paths.message(app, answer.id));
  };

  const timing = (
    <>
      <When
        form={form}
        onChange={change}
        leastRate={leastRate}
        errors={{ ...(sendAtIssue && { send_at: sendAtIssue }), ...(rateIssue && { per_second: rateIssue }) }}
        isScheduled={isScheduled}
        onScheduled={setScheduled}
      />
      <details className="card compose-folded">
        <summary>Name and metadata</summary>
        <ForTeam
          name={form.name ?? ''}
          metadata={form.metadata}
          error={errorAt('metadata')}
          onName={(name) => change({ name })}
          onMetadata={(metadata) => change({ metadata })}
        />
      </details>
    </>
  );
  const sending = (
    <>
      <Tests app={app} content={content} isReady={isReady} />
      <Send
        app={app}
        form={form}
        tried={tried}
        isCounting={live.isMoving}
        isScheduled={isScheduled}
        onSent={(answer) => void onSent(answer)}
      />
    </>
  );
  const columns: Readonly<Record<Step, React.ReactNode>> = {
    Who: (
      <Who
        app={app}
        audience={form.audience}
        excluded={excluded}
        onChange={(audience) => change({ audience })}
        onExclude={(segment) => change({ exclude_segment_id: segment })}
        live={live}
        warnings={aboutAudience.map(({ message }) => message)}
      />
    ),
    What: (
      <What
        content={form.content}
        onChange={changeContent}
        variables={variables}
        rendering={rendering}
        issues={tried.issues}
        place={place}
        onPlace={choosePlace}
      />
    ),
    Preview: <Previews rendering={rendering} reader={reader} onReader={setReader} content={form.content} />,
    Send: (
      <div className="stack">
        {timing}
        {sending}
      </div>
    ),
  };
  return (
    <>
      <PageHead
        title="Compose"
        answer={<KeptLine kept={kept} />}
        actions={
          <Group gap="xs">
            <Button variant="default" onClick={library.open}>
              Drafts and templates
            </Button>
            <Button variant="default" onClick={template.open} disabled={isEmpty}>
              Save as template
            </Button>
          </Group>
        }
      />
      <ChangedMeanwhile kept={kept} onTheirs={onReplaced} />
      <LeaveGuard isDirty={kept.state.kind === 'failed' || kept.state.kind === 'changed'} />
      {isPhone ? (
        <div className="stack">
          <SegmentedControl
            fullWidth
            aria-label="Step"
            data={[...steps]}
            value={step}
            onChange={(next) => setStep(next as Step)}
          />
          {columns[step]}
          <NextStep step={step} onStep={setStep} />
        </div>
      ) : (
        <div className="compose">
          <div className="stack">
            {columns.Who}
            {timing}
          </div>
          <div className="stack">
            {columns.What}
            {sending}
          </div>
          {columns.Preview}
        </div>
      )}
      <Library app={app} isOpen={isLibraryOpen} onClose={library.close} />
      {isSavingTemplate && (
        <SaveTemplate
          app={app}
          content={content}
          isOpen
          onClose={template.close}
          origin={start.template?.id ?? null}
          seen={seenTemplates}
          onSaved={(saved) => setSeenTemplates((before) => new Map<string, SeenTemplate>(before).set(saved.id, saved))}
        />
      )}
    </>
  );
}

const isCompleteFilter = (filter: unknown): boolean => isComplete(toTree(filter));

function NextStep({ step, onStep }: { step: Step; onStep: (step: Step) => void }) {
  const next = steps[steps.indexOf(step) + 1];
  if (next === undefined) return null;
  return (
    <Button
      variant="default"
      fullWidth
      onClick={() => {
        onStep(next);
        window.scrollTo({ top: 0 });
      }}
    >
      Next: {next}
    </Button>
  );
}

/** Whether the typed input is saved. */
function KeptLine({ kept: { state, draft } }: { kept: KeptDraft }) {
  switch (state.kind) {
    case 'untouched':
      return <span className="muted">What you type is kept as a draft that your team shares.</span>;
    case 'saving':
      return <span className="muted">Saving the draft…</span>;
    case 'saved':
      return (
        <span className="muted">
          Draft saved{' '}
          {draft && (
            <>
              by {tellAuthor(draft.changed_by)}, <RelativeTime at={String(draft.updated_at)} />
            </>
          )}
        </span>
      );
    case 'changed':
    case 'failed':
      return <span className="tone-bad">The draft is not saved.</span>;
  }
}

function ChangedMeanwhile({ kept, onTheirs }: { kept: KeptDraft; onTheirs: (draft: Draft) => void }) {
  const { state } = kept;
  if (state.kind === 'failed') {
    return (
      <div style={{ marginBottom: 16 }}>
        <ProblemPanel error={state.error} />
      </div>
    );
  }
  if (state.kind !== 'changed') return null;
  const { present } = state;
  const title = readForm(present.message).content['title'];
  return (
    <Alert color="yellow" mb="md" title="Somebody else saved this draft meanwhile" role="alert">
      <p style={{ margin: '0 0 8px' }}>
        {tellAuthor(present.changed_by)} saved it
        {typeof title === 'string' && title !== '' ? ` with the title “${title}”` : ''}. Nothing of yours is lost, and
        nothing is saved until you choose.
      </p>
      <Group gap="xs">
        <Button size="xs" variant="default" onClick={kept.keepMine}>
          Save mine over theirs
        </Button>
        <Button size="xs" variant="default" onClick={() => onTheirs(present)}>
          Give mine up, show theirs
        </Button>
      </Group>
    </Alert>
  );
}
