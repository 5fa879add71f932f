// A condition on events as a row that reads as a sentence: which event, how often, when, and
// conditions on its properties.
import { ActionIcon, Autocomplete, Button, Menu, NumberInput, Select } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import { useBuilder } from './builder-context.ts';
import { changeNode } from './edits.ts';
import { EventProperty } from './event-property.tsx';
import { countNames, latestNames } from './fields.ts';
import { type Json, jsonOf, type LeafTree, withFields } from './tree.ts';
import { DurationInput, InstantInput } from './value-input.tsx';

const conditionsMax = 5;
const toOptions = (names: Readonly<Record<string, string>>) =>
  Object.entries(names).map(([value, label]) => ({ value, label }));
const countOptions = toOptions(countNames);
const latestOptions = toOptions(latestNames);
const whenOptions = [
  { value: 'ever', label: 'at any time' },
  { value: 'within', label: 'in the last' },
];

export function EventRow({ node, name }: { node: LeafTree; name: string }) {
  const { tree, apply, catalog, isReadOnly } = useBuilder();
  const json = jsonOf(node);
  const event = String(json['event'] ?? '');
  const { op = 'gte', value = 1 } = (json['count'] ?? {}) as { op?: string; value?: number };
  const within = typeof json['within'] === 'string' ? json['within'] : null;
  const where = (Array.isArray(json['where']) ? json['where'] : []) as readonly Json[];
  const last = (json['last'] ?? null) as { op: string; value: unknown } | null;
  const change = (fields: Json, said?: string) =>
    apply(
      changeNode(tree, node.id, (leaf) => ('json' in leaf ? withFields(leaf, fields) : leaf)),
      said === undefined ? {} : { said },
    );
  const changeWhere = (next: readonly Json[], said?: string) =>
    change({ where: next.length === 0 ? undefined : next }, said);
  const properties = catalog.events.find((each) => each.name === event)?.properties ?? [];
  return (
    <div className="builder-event">
      <div className="builder-line">
        <span className="builder-word">did</span>
        <Autocomplete
          aria-label={`${name}: event`}
          className="builder-field"
          readOnly={isReadOnly}
          placeholder="Name of an event"
          data={catalog.events.map((each) => each.name)}
          limit={50}
          maxLength={128}
          value={event}
          onChange={(text) => change({ event: text })}
        />
        <Select
          aria-label={`${name}: how often`}
          readOnly={isReadOnly}
          data={countOptions}
          value={op}
          onChange={(chosen) => change({ count: { op: chosen, value } })}
          w={112}
        />
        <NumberInput
          aria-label={`${name}: times`}
          readOnly={isReadOnly}
          min={0}
          allowDecimal={false}
          allowNegative={false}
          value={value}
          onChange={(next) => next !== '' && change({ count: { op, value: Number(next) } })}
          w={76}
        />
        <span className="builder-word">{value === 1 ? 'time' : 'times'}</span>
        <Select
          aria-label={`${name}: when`}
          readOnly={isReadOnly}
          data={whenOptions}
          value={within === null ? 'ever' : 'within'}
          onChange={(chosen) => change({ within: chosen === 'within' ? '30d' : undefined })}
          w={124}
        />
        {within !== null && (
          <DurationInput label={`${name}: period`} value={within} onChange={(next) => change({ within: next })} />
        )}
      </div>
      {where.map((condition, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the conditions have no other name than their place
        <div className="builder-line" key={index}>
          <span className="builder-word">{index === 0 ? 'where' : 'and'}</span>
          <EventProperty
            name={`${name}, property ${index + 1}`}
            condition={condition}
            known={properties}
            onChange={(next) => changeWhere(where.map((each, i) => (i === index ? next : each)))}
          />
          <RemovePart
            label={`Remove property ${index + 1} of ${name.toLowerCase()}`}
            onClick={() =>
              changeWhere(
                where.filter((_each, i) => i !== index),
                'The property was removed.',
              )
            }
          />
        </div>
      ))}
      {last && (
        <div className="builder-line">
          <span className="builder-word">and the latest was</span>
          <Select
            aria-label={`${name}: the latest`}
            readOnly={isReadOnly}
            data={latestOptions}
            value={String(last.op)}
            onChange={(chosen) =>
              change({
                last: { op: chosen, value: chosen === 'within_last' ? '30d' : new Date().toISOString() },
              })
            }
            w={148}
          />
          {last.op === 'within_last' ? (
            <DurationInput
              label={`${name}: the latest`}
              value={last.value}
              onChange={(next) => change({ last: { op: last.op, value: next } })}
            />
          ) : (
            <InstantInput
              label={`${name}: instant of the latest`}
              value={last.value}
              onChange={(next) => next !== undefined && change({ last: { op: last.op, value: next } })}
            />
          )}
          <RemovePart
            label={`Remove the latest of ${name.toLowerCase()}`}
            onClick={() => change({ last: undefined }, 'The condition on the latest event was removed.')}
          />
        </div>
      )}
      {!isReadOnly && event !== '' && (where.length < conditionsMax || !last) && (
        <Menu position="bottom-start">
          <Menu.Target>
            <Button
              variant="subtle"
              size="compact-xs"
              leftSection={<IconPlus size={13} aria-hidden />}
              aria-label={`Add a detail to ${name.toLowerCase()}`}
            >
              Detail
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {where.length < conditionsMax && (
              <Menu.Item
                onClick={() => changeWhere([...where, { field: 'properties.', op: 'eq' }], 'A property was added.')}
              >
                A property of the event
              </Menu.Item>
            )}
            {!last && (
              <Menu.Item
                onClick={() => change({ last: { op: 'within_last', value: '30d' } }, 'A condition was added.')}
              >
                When the latest was
              </Menu.Item>
            )}
          </Menu.Dropdown>
        </Menu>
      )}
    </div>
  );
}

function RemovePart({ label, onClick }: { label: string; onClick: () => void }) {
  const { isReadOnly } = useBuilder();
  if (isReadOnly) return null;
  return (
    <ActionIcon variant="subtle" color="gray" aria-label={label} onClick={onClick}>
      <IconX size={15} aria-hidden />
    </ActionIcon>
  );
}
