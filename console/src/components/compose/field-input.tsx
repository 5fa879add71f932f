// The input of one field of a message, by its kind. A value of another shape shows as empty and is
// kept until somebody types.
import { Group, NumberInput, Select, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { ContentField, FieldInput as Input } from './content-fields.ts';
import { readPairs, recordOf, writePairs } from './message-form.ts';
import { TemplateText } from './template-text.tsx';
import { useDeferred } from './use-deferred.ts';
import type { Variable } from './variables.ts';

interface FieldInputProps {
  readonly field: ContentField;
  readonly value: unknown;
  /** The common value, which applies while this field is not set. */
  readonly inherited: unknown;
  readonly variables: readonly Variable[];
  readonly error: string | undefined;
  /** Undefined: the field is not set. */
  readonly onChange: (value: unknown) => void;
}

export function FieldInput(props: FieldInputProps) {
  const { field, value, inherited, variables, error, onChange } = props;
  const { label, note, input } = field;
  const common = { label, error, description: note };
  const setText = (text: string) => onChange(text === '' ? undefined : text);
  switch (input.kind) {
    case 'template':
      return (
        <TemplateText
          label={label}
          value={textOf(value)}
          onChange={setText}
          variables={variables}
          maxLength={input.max}
          placeholder={textOf(inherited) || undefined}
          error={error}
          description={note}
        />
      );
    case 'text':
      return (
        <PlainText
          {...common}
          value={textOf(value)}
          onChange={setText}
          maxLength={input.max}
          placeholder={textOf(inherited) || input.placeholder}
        />
      );
    case 'number':
      return (
        <NumberInput
          {...common}
          value={numberOf(value)}
          min={0}
          max={input.max}
          allowDecimal={input.step !== undefined}
          step={input.step}
          onChange={(next) => onChange(typeof next === 'number' ? next : undefined)}
        />
      );
    case 'choice':
      return <Chosen {...common} input={input} value={value} inherited={inherited} onChange={onChange} />;
    case 'seconds':
      return <Seconds {...common} value={value} inherited={inherited} onChange={onChange} />;
    case 'pairs':
      return <Pairs {...common} value={value} onChange={onChange} />;
    case 'sound':
      return <Sound {...common} value={value} onChange={onChange} />;
  }
}

interface PartProps {
  readonly label: string;
  readonly description?: string;
  readonly error: string | undefined;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

interface PlainTextProps extends Omit<PartProps, 'error' | 'onChange' | 'value'> {
  readonly error?: string | undefined;
  readonly value: string;
  readonly onChange: (text: string) => void;
  readonly maxLength: number;
  readonly placeholder?: string | undefined;
}

export function PlainText({ value, onChange, ...rest }: PlainTextProps) {
  const field = useDeferred(value, onChange);
  return (
    <TextInput
      {...rest}
      value={field.text}
      onBlur={field.settle}
      onChange={({ currentTarget }) => field.set(currentTarget.value)}
    />
  );
}

interface ChosenProps extends PartProps {
  readonly input: Extract<Input, { readonly kind: 'choice' }>;
  readonly inherited: unknown;
}

function Chosen({ input, value, inherited, onChange, ...rest }: ChosenProps) {
  const labelOf = (of: unknown) => input.options.find((option) => option.value === of)?.label;
  const unset = labelOf(inherited) === undefined ? input.unset : `As everywhere: ${labelOf(inherited)}`;
  return (
    <Select
      {...rest}
      allowDeselect={false}
      data={[
        { value: '', label: unset },
        ...input.options.map((option) => ({ value: String(option.value), label: option.label })),
      ]}
      value={labelOf(value) === undefined ? '' : String(value)}
      onChange={(next) => onChange(input.options.find((option) => String(option.value) === next)?.value)}
    />
  );
}

const units = { seconds: 1, minutes: 60, hours: 3600, days: 86_400 } as const;
type Unit = keyof typeof units;
const unitNames = Object.keys(units) as Unit[];
const secondsMax = 2_419_200;
const unitWidth = 112;
const unitGap = 8;

/** The longest unit in which a time is a whole number. */
const unitOf = (value: unknown): Unit =>
  typeof value === 'number' && value > 0
    ? (unitNames.findLast((unit) => value % units[unit] === 0) ?? 'seconds')
    : 'hours';

function Seconds({ value, inherited, onChange, label, ...rest }: PartProps & { readonly inherited: unknown }) {
  const [unit, setUnit] = useState<Unit>(unitOf(value));
  const amount = typeof value === 'number' ? value / units[unit] : '';
  const set = (next: number | string, of: Unit) =>
    onChange(typeof next === 'number' ? Math.min(secondsMax, Math.round(next * units[of])) : undefined);
  const others = unitOf(inherited);
  return (
    <Group gap={unitGap} align="end" wrap="nowrap">
      <NumberInput
        {...rest}
        label={label}
        // The label of the number also covers the unit.
        descriptionProps={{ mr: -unitWidth - unitGap }}
        style={{ flex: 1 }}
        min={0}
        max={secondsMax / units[unit]}
        value={amount}
        {...(typeof inherited === 'number' && { placeholder: `${inherited / units[others]} ${others}` })}
        onChange={(next) => set(next, unit)}
      />
      <Select
        aria-label={`${label}: unit`}
        w={unitWidth}
        allowDeselect={false}
        data={unitNames}
        value={unit}
        onChange={(next) => {
          const chosen = unitNames.find((name) => name === next) ?? unit;
          setUnit(chosen);
          if (amount !== '') set(amount, chosen);
        }}
      />
    </Group>
  );
}

const samePairs = (typed: string): string => writePairs(readPairs(typed));

export function Pairs({ value, onChange, placeholder, ...rest }: PartProps & { readonly placeholder?: string }) {
  const field = useDeferred(writePairs(recordOf(value)), (typed) => onChange(readPairs(typed) ?? undefined), samePairs);
  return (
    <Textarea
      {...rest}
      placeholder={placeholder}
      rows={2}
      value={field.text}
      onBlur={field.settle}
      onChange={({ currentTarget }) => field.set(currentTarget.value)}
    />
  );
}

/**
 * The sound of an iPhone: a plain name, or a critical sound that also rings on a silenced phone.
 */
function Sound({ value, onChange, ...rest }: PartProps) {
  const parts = typeof value === 'string' ? { name: value } : recordOf(value);
  const set = (fields: Readonly<Record<string, unknown>>) => {
    const next = Object.entries({ ...parts, ...fields }).filter(([, part]) => part !== undefined);
    const names = next.map(([name]) => name);
    if (next.length === 0) return onChange(undefined);
    const isNameAlone = names.length === 1 && names[0] === 'name';
    onChange(isNameAlone ? next[0]?.[1] : Object.fromEntries([['name', ''], ...next]));
  };
  return (
    <>
      <PlainText
        {...rest}
        value={textOf(parts['name'])}
        onChange={(name) => set({ name: name === '' ? undefined : name })}
        maxLength={128}
        placeholder="bell.caf"
      />
      <div className="compose-pair">
        <Chosen
          label="Rings when silenced"
          error={undefined}
          input={{
            kind: 'choice',
            unset: 'Not set: no',
            options: [
              { value: true, label: 'Yes, if Apple permits it' },
              { value: false, label: 'No' },
            ],
          }}
          value={parts['critical']}
          inherited={undefined}
          onChange={(critical) => set({ critical })}
        />
        <NumberInput
          label="Volume, from 0 to 1"
          min={0}
          max={1}
          step={0.1}
          value={numberOf(parts['volume'])}
          onChange={(next) => set({ volume: typeof next === 'number' ? next : undefined })}
        />
      </div>
    </>
  );
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const numberOf = (value: unknown): number | '' => (typeof value === 'number' ? value : '');
