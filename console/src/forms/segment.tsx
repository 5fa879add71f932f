// A segment: its name, what it is for, and the filter as sentences with the JSON beside it.
import { Button, Stack, Textarea, TextInput } from '@mantine/core';
import { IconArrowBackUp } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import type { Segment, SegmentRequest } from '../api/objects.ts';
import { FilterBuilder, readFilter, useFilterTree } from '../components/filter-builder/filter-builder.tsx';
import { FilterJson } from '../components/filter-builder/filter-json.tsx';
import { FormFoot } from '../components/form.tsx';
import { LeaveGuard } from '../components/leave-guard.tsx';
import { editing } from '../components/use-draft.ts';
import { useDraftSave } from '../components/use-save.ts';
import { Card } from '../ui/card.tsx';

type Values = { name: string; description: string; filter: unknown };

/** A filter without a condition, as the builder begins. */
const noFilter = { and: [] };

interface SegmentFormProps {
  readonly app: string;
  /** The segment that is edited; undefined: a new segment. */
  readonly segment?: Segment;
  /** The filter that a new segment begins with. */
  readonly filter?: unknown;
  readonly label: string;
  readonly isReadOnly?: boolean;
  readonly save: (values: SegmentRequest, seen: string) => Promise<Segment>;
  readonly onSaved: (segment: Segment) => unknown;
}

export function SegmentForm(props: SegmentFormProps) {
  const { app, segment, filter = noFilter, label, isReadOnly = false, save, onSaved } = props;
  const [saved, setSaved] = useState<Segment>();
  const edit = useDraftSave<Values, Segment>(`segment ${segment?.id ?? app}`, {
    ...(segment ? editing(segment, valuesOf) : { initialValues: { name: '', description: '', filter } }),
    save: (values, { seen }) =>
      save({ ...values, description: values.description || null, filter: values.filter as object }, seen),
    stays: segment !== undefined,
    onSaved: setSaved,
  });
  const { form } = edit;
  const { tree, set, undo } = useFilterTree(form.values.filter, (next) => form.setFieldValue('filter', next));
  const isDirty = form.isDirty();
  // The page is left only after the guard has seen that nothing is unsaved.
  // biome-ignore lint/correctness/useExhaustiveDependencies: what follows a save runs once
  useEffect(() => {
    if (saved === undefined || isDirty) return;
    setSaved(undefined);
    onSaved(saved);
  }, [saved, isDirty]);
  return (
    <form onSubmit={form.onSubmit(edit.submit)}>
      <LeaveGuard isDirty={isDirty} />
      <div className="segment-form">
        <Card
          title="Who is in it"
          actions={
            !isReadOnly && (
              <Button
                variant="subtle"
                size="compact-sm"
                leftSection={<IconArrowBackUp size={15} aria-hidden />}
                disabled={undo === null}
                onClick={() => undo?.()}
              >
                Undo
              </Button>
            )
          }
        >
          <FilterBuilder appId={app} value={tree} onChange={set} isReadOnly={isReadOnly} segmentId={segment?.id} />
        </Card>
        <Stack gap="md">
          <Card title="Details">
            <Stack gap="sm">
              <TextInput label="Name" required maxLength={128} readOnly={isReadOnly} {...form.getInputProps('name')} />
              <Textarea
                label="What it is for"
                autosize
                minRows={2}
                maxLength={1024}
                readOnly={isReadOnly}
                {...form.getInputProps('description')}
              />
              {form.errors['filter'] && (
                <p className="builder-problem" role="alert">
                  {form.errors['filter']}
                </p>
              )}
              {!isReadOnly && <FormFoot of={edit} label={label} isDisabled={!isDirty || readFilter(tree) === null} />}
            </Stack>
          </Card>
          <Card title="The same as JSON">
            <FilterJson value={tree} onChange={set} isReadOnly={isReadOnly} />
          </Card>
        </Stack>
      </div>
    </form>
  );
}

const valuesOf = ({ name, description, filter }: Segment): Values => ({ name, description: description ?? '', filter });
