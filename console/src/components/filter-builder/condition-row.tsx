// One comparison as a row that reads as a sentence: field, operator, value.
import { Select } from '@mantine/core';
import { useBuilder } from './builder-context.ts';
import { changeNode } from './edits.ts';
import { type Field, isProperty, nameOfField, nameOfOperator, valueFor } from './fields.ts';
import { jsonOf, type LeafTree, withFields } from './tree.ts';
import { ValueInput } from './value-input.tsx';

/** The fields grouped by subject, for a list with headings. */
function groupsOf(fields: readonly Field[], present: string) {
  const entry = ({ field }: { field: string }) => ({ value: field, label: nameOfField(field) });
  const known = fields.some(({ field }) => field === present) || present === '';
  return [
    {
      group: 'Person',
      items: fields.filter(({ field }) => !isProperty(field) && !field.startsWith('device.')).map(entry),
    },
    { group: 'Property', items: fields.filter(({ field }) => isProperty(field)).map(entry) },
    { group: 'Device', items: fields.filter(({ field }) => field.startsWith('device.')).map(entry) },
    ...(known ? [] : [{ group: 'Not in the catalog', items: [entry({ field: present })] }]),
  ].filter(({ items }) => items.length > 0);
}

/**
 * The parts of a comparison after its field changes: the operator, and a value of the same type.
 */
function fieldsAfter(before: Field | undefined, after: Field, op: unknown, value: unknown) {
  const kept = after.operators.includes(String(op)) ? String(op) : (after.operators[0] ?? 'eq');
  const isSameType = before?.type === after.type;
  return { field: after.field, op: kept, value: valueFor(kept, isSameType ? value : undefined) };
}

export function ConditionRow({ node, name }: { node: LeafTree; name: string }) {
  const { tree, apply, catalog, isReadOnly } = useBuilder();
  const { field = '', op, value } = jsonOf(node) as { field?: string; op?: unknown; value?: unknown };
  const known = catalog.fieldOf(field);
  const change = (fields: Record<string, unknown>) =>
    apply(changeNode(tree, node.id, (leaf) => ('json' in leaf ? withFields(leaf, fields) : leaf)));
  const operators = known?.operators ?? [String(op)];
  return (
    <>
      <Select
        aria-label={`${name}: field`}
        className="builder-field"
        readOnly={isReadOnly}
        placeholder="Choose a field"
        searchable
        limit={100}
        nothingFoundMessage="No such field"
        data={groupsOf(catalog.fields, field)}
        value={field === '' ? null : field}
        onChange={(chosen) => {
          const next = chosen === null ? undefined : catalog.fieldOf(chosen);
          if (next && next.field !== field) change(fieldsAfter(known, next, op, value));
        }}
      />
      {field !== '' && (
        <>
          <Select
            aria-label={`${name}: operator`}
            className="builder-op"
            readOnly={isReadOnly}
            data={[...new Set([...operators, String(op)])].map((each) => ({
              value: each,
              label: nameOfOperator(each),
            }))}
            value={String(op)}
            onChange={(chosen) => chosen !== null && change({ op: chosen, value: valueFor(chosen, value) })}
          />
          <ValueInput
            key={`${field} ${known?.type}`}
            label={`${name}: value`}
            type={known?.type ?? 'string'}
            op={op}
            field={known ? field : null}
            value={value}
            onChange={(next) => change({ value: next })}
          />
        </>
      )}
    </>
  );
}
