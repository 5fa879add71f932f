// The value of a comparison, in the form that its operator takes. Suggestions are real values.
import { Autocomplete, MultiSelect, NumberInput, Select, TagsInput, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { useAnswer } from '../../api/queries.ts';
import { platformNames } from '../../format.ts';
import { HiddenValue } from '../hidden-values.tsx';
import { useBuilder } from './builder-context.ts';
import { type FieldType, formOf, platforms, readDuration, type Unit, unitNames } from './fields.ts';
import { fromLocalInput, toLocalInput } from './local-instant.ts';

interface ValueProps {
  readonly label: string;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

interface ValueInputProps extends ValueProps {
  readonly type: FieldType;
  readonly op: unknown;
  /** The field whose values are suggested; null: only the samples are known. */
  readonly field: string | null;
  readonly samples?: readonly unknown[];
}

export function ValueInput({ type, op, field, samples = [], ...props }: ValueInputProps) {
  const { isReadOnly } = useBuilder();
  const form = formOf(op);
  if (form === 'none') return null;
  if (isReadOnly && props.value === undefined) return <HiddenValue />;
  if (form === 'duration') return <DurationInput {...props} />;
  if (form === 'instant') return <InstantInput {...props} />;
  if (field === 'device.platform' && (op === 'eq' || op === 'neq' || form === 'list')) {
    return <PlatformInput {...props} isList={form === 'list'} />;
  }
  if (type === 'boolean') return <BooleanInput {...props} />;
  const input = { ...props, type, field, samples };
  return form === 'list' ? <ListInput {...input} /> : <ScalarInput {...input} />;
}

interface SuggestedProps extends ValueProps {
  readonly type: FieldType;
  readonly field: string | null;
  readonly samples: readonly unknown[];
}

const suggestPauseMs = 150;

/**
 * Real values that begin with the typed text. Nothing is requested before the field has the focus.
 */
function useSuggestions({ field, samples }: SuggestedProps, typed: string, isOpen: boolean): string[] {
  const { app, isReadOnly } = useBuilder();
  const [search] = useDebouncedValue(typed, suggestPauseMs);
  const query = useAnswer(
    'suggestValues',
    { app, field: field ?? '', q: search.slice(0, 128) },
    { enabled: isOpen && field !== null && !isReadOnly },
  );
  const values = field === null ? samples : (query.data?.data ?? samples);
  return [...new Set(values.map(String))];
}

/** A text as a value of the type; undefined when it is none. */
function readScalar(type: FieldType, text: string): string | number | undefined {
  if (type !== 'number') return text;
  const number = text.trim() === '' ? Number.NaN : Number(text.replace(',', '.'));
  return Number.isFinite(number) ? number : undefined;
}

function ScalarInput(props: SuggestedProps) {
  const { type, label, value, onChange } = props;
  const { isReadOnly } = useBuilder();
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState('');
  // A number that is not complete, such as `1e`, stays as it was typed.
  const [kept, setKept] = useState<string | null>(null);
  const suggestions = useSuggestions(props, typed, isOpen);
  const shown = value === undefined ? (kept ?? '') : String(value);
  const isOfType = kept !== null && readScalar(type, kept) === value;
  return (
    <Autocomplete
      aria-label={label}
      className="builder-value"
      readOnly={isReadOnly}
      placeholder={value === '' ? 'the empty text' : 'Value'}
      data={suggestions}
      filter={({ options }) => options}
      limit={20}
      maxLength={1024}
      value={isOfType ? kept : shown}
      {...(type === 'number' && { inputMode: 'decimal' as const })}
      error={type === 'number' && kept !== null && kept !== '' && value === undefined ? 'A number, please' : undefined}
      onFocus={() => {
        setTyped('');
        setOpen(true);
      }}
      onBlur={() => setOpen(false)}
      onChange={(text) => {
        setTyped(text);
        setKept(text);
        onChange(readScalar(type, text));
      }}
    />
  );
}

function ListInput(props: SuggestedProps) {
  const { type, label, value, onChange } = props;
  const { isReadOnly } = useBuilder();
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState('');
  const suggestions = useSuggestions(props, typed, isOpen);
  const items = Array.isArray(value) ? value.map(String) : [];
  return (
    <TagsInput
      aria-label={label}
      className="builder-value"
      readOnly={isReadOnly}
      placeholder={items.length === 0 ? 'Values, each with Enter' : ''}
      data={suggestions}
      filter={({ options }) => options}
      limit={20}
      maxTags={1000}
      splitChars={['\n']}
      value={items}
      searchValue={typed}
      onSearchChange={setTyped}
      onFocus={() => setOpen(true)}
      onBlur={() => setOpen(false)}
      onChange={(tags) => {
        const values = tags.flatMap((tag) => readScalar(type, tag) ?? []);
        onChange(values.length === 0 ? undefined : values);
      }}
    />
  );
}

const platformOptions = platforms.map((value) => ({ value, label: platformNames[value] }));

function PlatformInput({ label, value, onChange, isList }: ValueProps & { isList: boolean }) {
  const { isReadOnly } = useBuilder();
  const common = { 'aria-label': label, className: 'builder-value', data: platformOptions, readOnly: isReadOnly };
  if (!isList) {
    return (
      <Select {...common} placeholder="Platform" value={typeof value === 'string' ? value : null} onChange={onChange} />
    );
  }
  const items = Array.isArray(value) ? value.map(String) : [];
  return (
    <MultiSelect
      {...common}
      placeholder={items.length === 0 ? 'Platforms' : ''}
      value={items}
      onChange={(chosen) => onChange(chosen.length === 0 ? undefined : chosen)}
    />
  );
}

function BooleanInput({ label, value, onChange }: ValueProps) {
  const { isReadOnly } = useBuilder();
  return (
    <Select
      aria-label={label}
      className="builder-value"
      readOnly={isReadOnly}
      placeholder="Yes or no"
      data={[
        { value: 'true', label: 'yes' },
        { value: 'false', label: 'no' },
      ]}
      value={typeof value === 'boolean' ? String(value) : null}
      onChange={(chosen) => onChange(chosen === 'true')}
    />
  );
}

const units = Object.entries(unitNames).map(([value, label]) => ({ value, label }));

export function DurationInput({ label, value, onChange }: ValueProps) {
  const { isReadOnly } = useBuilder();
  const { number, unit } = readDuration(value) ?? { number: 30, unit: 'd' as Unit };
  return (
    <span className="builder-pair">
      <NumberInput
        aria-label={`${label}: how many`}
        readOnly={isReadOnly}
        min={1}
        max={9999}
        allowDecimal={false}
        allowNegative={false}
        value={number}
        onChange={(next) => next !== '' && onChange(`${next}${unit}`)}
        w={88}
      />
      <Select
        aria-label={`${label}: unit`}
        readOnly={isReadOnly}
        data={units}
        value={unit}
        onChange={(next) => onChange(`${number}${next}`)}
        w={112}
      />
    </span>
  );
}

/** An instant, typed in the zone of the browser. */
export function InstantInput({ label, value, onChange }: ValueProps) {
  const { isReadOnly } = useBuilder();
  return (
    <TextInput
      type="datetime-local"
      aria-label={label}
      className="builder-value"
      readOnly={isReadOnly}
      step={1}
      value={toLocalInput(value)}
      onChange={({ currentTarget }) => onChange(fromLocalInput(currentTarget.value))}
    />
  );
}
