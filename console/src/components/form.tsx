// A form and its end: what went wrong, what somebody else changed, and the button to save.
import { Alert, Anchor, Button, Group, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { Problem } from '../api/client.ts';
import { ChangeList } from './change-list.tsx';
import { changesOf } from './draft-merge.ts';
import { ProblemPanel } from './problem.tsx';
import type { Draft } from './use-draft.ts';
import type { Save } from './use-save.ts';

interface FormFootProps<Values extends object> {
  readonly of: Save<Values>;
  readonly label: string;
  readonly onCancel?: () => void;
  readonly isDisabled?: boolean;
  /** True: the button has the full width, because it is the only way on. */
  readonly isWide?: boolean;
}

interface FormProps<Values extends object> extends FormFootProps<Values> {
  readonly children: ReactNode;
  readonly below?: ReactNode;
  readonly maxWidth?: number;
}

/** The fields of a form, one below the other. */
export function Form<Values extends object>({ children, below, maxWidth, ...foot }: FormProps<Values>) {
  const { form, submit } = foot.of;
  return (
    <form onSubmit={form.onSubmit(submit)} style={{ maxWidth }}>
      <Stack>
        {children}
        <FormFoot {...foot} />
        {below}
      </Stack>
    </form>
  );
}

export function FormFoot<Values extends object>(props: FormFootProps<Values>) {
  const { of, label, onCancel, isDisabled = false, isWide = false } = props;
  const { draft, problem, isSaving, clear } = of;
  const isChanged = problem instanceof Problem && problem.isChangedMeanwhile && draft?.readPresent;
  const cancel = () => {
    draft?.forget();
    clear();
    onCancel?.();
  };
  return (
    <div style={{ display: 'grid', gap: 12 }}>
      {draft?.isRestored && (
        <p className="muted" style={{ margin: 0 }} role="status">
          The form has what you typed before.{' '}
          <Anchor component="button" type="button" onClick={draft.forget}>
            Start over
          </Anchor>
        </p>
      )}
      {isChanged && draft ? (
        <ChangedMeanwhile draft={draft} present={problem.present} onDone={clear} />
      ) : (
        problem !== undefined && <ProblemPanel error={problem} />
      )}
      {/* In a dialog the buttons are at its end; on a page they are below the fields. */}
      <Group justify={onCancel ? 'flex-end' : 'flex-start'}>
        {onCancel && (
          <Button variant="default" onClick={cancel}>
            Cancel
          </Button>
        )}
        <Button type="submit" loading={isSaving} disabled={isDisabled} fullWidth={isWide}>
          {label}
        </Button>
      </Group>
    </div>
  );
}

interface ChangedProps<Values> {
  readonly draft: Draft<Values>;
  readonly present: unknown;
  readonly onDone: () => void;
}

function ChangedMeanwhile<Values extends object>({ draft, present, onDone }: ChangedProps<Values>) {
  const theirs = draft.readPresent?.(present);
  const changes = theirs ? changesOf(draft.base, draft.form.getValues(), theirs) : [];
  const choose = (act: (present: unknown) => void) => () => {
    act(present);
    onDone();
  };
  return (
    <Alert
      color="yellow"
      title={changes.length > 0 ? 'Somebody else saved this meanwhile' : 'This was saved again meanwhile'}
      role="alert"
    >
      <p style={{ margin: 0 }}>Nothing of yours is lost, and nothing is saved yet.</p>
      <ChangeList changes={changes} />
      <Group gap="xs">
        <Button size="xs" variant="default" onClick={choose(draft.merge)}>
          Keep mine, take their other changes
        </Button>
        <Button size="xs" variant="default" onClick={choose(draft.replace)}>
          Give mine up, show theirs
        </Button>
      </Group>
    </Alert>
  );
}
