// A condition on a property of an event. Events have no catalog of types, so the type is that of
// the value. A person may choose another type.
import { Autocomplete, Select } from '@mantine/core';
import { useState } from 'react';
import { type Catalog, useBuilder } from './builder-context.ts';
import { keyOf, nameOfOperator, operatorsOfType, propertyOf, valueFor } from './fields.ts';
import type { Json } from './tree.ts';
import { ValueInput } from './value-input.tsx';

type Type = keyof typeof operatorsOfType;
const typeNames: Readonly<Record<Type, string>> = { string: 'text', number: 'number', boolean: 'yes or no' };
const types = Object.keys(typeNames) as readonly Type[];
const typeOptions = types.map((value) => ({ value, label: typeNames[value] }));

interface EventPropertyProps {
  readonly name: string;
  readonly condition: Json;
  readonly known: Catalog['events'][number]['properties'];
  readonly onChange: (next: Json) => void;
}

export function EventProperty({ name, condition, known, onChange }: EventPropertyProps) {
  const { isReadOnly } = useBuilder();
  const { op, value } = condition;
  const key = keyOf(String(condition['field'] ?? ''));
  const given = typeof (Array.isArray(value) ? value[0] : value);
  const first = known.find((each) => each.key === key)?.type;
  const [chosen, setChosen] = useState<Type | null>(null);
  const type = types.find((each) => each === given) ?? chosen ?? types.find((each) => each === first) ?? 'string';
  const samples = known.find((each) => each.key === key && each.type === type)?.samples ?? [];
  const change = (fields: Json) => {
    const next = Object.entries({ ...condition, ...fields }).filter(([, each]) => each !== undefined);
    onChange(Object.fromEntries(next));
  };
  const operators = operatorsOfType[type];
  return (
    <>
      <Autocomplete
        aria-label={`${name}: name`}
        className="builder-key"
        readOnly={isReadOnly}
        placeholder="Property"
        data={[...new Set(known.map((each) => each.key))]}
        maxLength={64}
        value={key}
        onChange={(text) => change({ field: propertyOf(text) })}
      />
      <Select
        aria-label={`${name}: type`}
        readOnly={isReadOnly}
        data={typeOptions}
        value={type}
        onChange={(next) => {
          setChosen(next as Type);
          const allowed = operatorsOfType[next as Type];
          change({ op: allowed.includes(String(op)) ? op : 'eq', value: undefined });
        }}
        w={112}
      />
      <Select
        aria-label={`${name}: operator`}
        className="builder-op"
        readOnly={isReadOnly}
        data={[...new Set([...operators, String(op)])].map((each) => ({ value: each, label: nameOfOperator(each) }))}
        value={String(op)}
        onChange={(next) => next !== null && change({ op: next, value: valueFor(next, value) })}
      />
      <ValueInput
        key={`${key} ${type}`}
        label={`${name}: value`}
        type={type}
        op={op}
        field={null}
        samples={samples}
        value={value}
        onChange={(next) => change({ value: next })}
      />
    </>
  );
}
