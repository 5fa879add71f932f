// A group of conditions: how they are joined, the conditions with their counts, and what can be
// added.
import { ActionIcon, Button, Select, VisuallyHidden } from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { Fragment, useEffect, useRef } from 'react';
import { useBuilder } from './builder-context.ts';
import { ConditionRow } from './condition-row.tsx';
import { addNode, removeNode, replaceNode } from './edits.ts';
import { EventRow } from './event-row.tsx';
import { isComplete } from './is-complete.ts';
import { PartCount } from './live-count.tsx';
import { NodeMenu, neighbourOf } from './node-menu.tsx';
import {
  type GroupTree,
  isGroup,
  type LeafTree,
  newCondition,
  newEventCondition,
  newGroup,
  newNegation,
  strip,
  type Tree,
  toFilter,
} from './tree.ts';
import { tell } from './words.ts';

const joins = [
  { value: 'and', label: 'All of these are true' },
  { value: 'or', label: 'Any of these is true' },
  { value: 'not or', label: 'None of these is true' },
  { value: 'not and', label: 'Not all of these are true' },
];

/** The parts that can be added to a group. `what` names the part to a screen reader. */
const additions: readonly (readonly [label: string, what: string, make: (group: GroupTree) => Tree])[] = [
  ['Condition', 'A condition', () => newCondition()],
  ['What they did', 'A condition on events', () => newEventCondition()],
  ['Group', 'A group', ({ kind }) => newGroup(kind === 'and' ? 'or' : 'and', [newCondition()])],
];

interface GroupProps {
  /** The group, or its negation. */
  readonly node: Tree;
  readonly group: GroupTree;
  readonly name: string;
  readonly isOuter: boolean;
}

/** A group. If it has several negations, the outer ones are drawn around it one by one. */
export function Group({ node, group, name, isOuter }: GroupProps) {
  const { tree, apply, isReadOnly, problemOf } = useBuilder();
  const place = useFocus<HTMLFieldSetElement>([group.id, node.id], 'button[data-add], input');
  const isNegated = node.kind === 'not';
  const join = (chosen: string | null) => {
    const kind = chosen?.endsWith('or') ? 'or' : 'and';
    const next: GroupTree = { ...group, kind };
    apply(replaceNode(tree, node.id, chosen?.startsWith('not') ? keepId(node, next) : next));
  };
  const add = (added: Tree, what: string) => {
    const first = isGroup(added) ? added.nodes[0] : added;
    const said = `${what} was added to ${name.toLowerCase()}.`;
    apply(addNode(tree, group.id, added), { ...(first && { focus: first.id }), said });
  };
  const problem = problemOf(group.id);
  return (
    <fieldset className={isOuter ? 'builder-group is-outer' : 'builder-group'} ref={place}>
      <VisuallyHidden component="legend">
        {name}: {tell(node)}
      </VisuallyHidden>
      <div className="builder-line">
        <Select
          aria-label={`${name}: how its conditions are joined`}
          readOnly={isReadOnly}
          data={joins}
          value={`${isNegated ? 'not ' : ''}${group.kind}`}
          onChange={join}
          w={216}
        />
        <span className="builder-end">
          {!isOuter && <Counted node={node} />}
          {!isReadOnly && !isOuter && <NodeMenu node={node} name={name} />}
        </span>
      </div>
      {problem !== undefined && <Complaint text={problem} />}
      {group.nodes.length > 0 && (
        <ol className="builder-rows" aria-label={`Conditions of ${name.toLowerCase()}`}>
          {group.nodes.map((each, index) => (
            <Fragment key={each.id}>
              {index > 0 && (
                <li className="builder-join" aria-hidden="true">
                  {group.kind}
                </li>
              )}
              <li>
                <Item node={each} name={isOuter ? `${index + 1}` : `${name.replace('Group ', '')}.${index + 1}`} />
              </li>
            </Fragment>
          ))}
        </ol>
      )}
      {!isReadOnly && (
        <div className="builder-add">
          {additions.map(([label, what, make]) => (
            <Button
              key={label}
              data-add
              variant="default"
              size="xs"
              leftSection={<IconPlus size={14} aria-hidden />}
              onClick={() => add(make(group), what)}
            >
              {label}
            </Button>
          ))}
        </div>
      )}
    </fieldset>
  );
}

/** A negation that keeps the row's id, if there was one. */
const keepId = (node: Tree, next: GroupTree): Tree =>
  node.kind === 'not' ? { ...node, node: next } : newNegation(next);

function Item({ node, name }: { node: Tree; name: string }) {
  const { inner, negations } = strip(node);
  // A group and a row have the innermost negation themselves. Each further one is drawn around them.
  if (node.kind === 'not' && negations > 1) return <Around node={node} name={name} />;
  if (isGroup(inner)) return <Group node={node} group={inner} name={`Group ${name}`} isOuter={false} />;
  return <Row node={node} leaf={inner} name={`Condition ${name}`} />;
}

/** A negation around something that is negated itself. */
function Around({ node, name }: { node: Tree & { kind: 'not' }; name: string }) {
  const { tree, apply, isReadOnly } = useBuilder();
  return (
    <div className="builder-group">
      <div className="builder-line">
        <span className="builder-word">It is not true that</span>
        {!isReadOnly && (
          <Button
            variant="subtle"
            size="compact-xs"
            onClick={() => apply(replaceNode(tree, node.id, node.node), { said: 'The “not” was taken away.' })}
          >
            Take the “not” away
          </Button>
        )}
      </div>
      <Item node={node.node} name={name} />
    </div>
  );
}

function Row({ node, leaf, name }: { node: Tree; leaf: LeafTree; name: string }) {
  const { tree, apply, isReadOnly, problemOf } = useBuilder();
  const place = useFocus<HTMLFieldSetElement>([node.id], 'input, button');
  const problem = problemOf(leaf.id) ?? problemOf(node.id);
  return (
    <fieldset className="builder-row" ref={place}>
      <VisuallyHidden component="legend">
        {name}: {tell(node)}
      </VisuallyHidden>
      <div className="builder-sentence">
        {node.kind === 'not' && <span className="builder-word is-not">not</span>}
        {leaf.kind === 'field' && <ConditionRow node={leaf} name={name} />}
        {leaf.kind === 'event' && <EventRow node={leaf} name={name} />}
        {leaf.kind === 'unknown' && <code className="mono">{JSON.stringify(leaf.json)}</code>}
      </div>
      <span className="builder-end">
        <Counted node={node} />
        {!isReadOnly && (
          <>
            <NodeMenu node={node} name={name} />
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={`Remove ${name.toLowerCase()}`}
              onClick={() => apply(removeNode(tree, node.id), neighbourOf(tree, node, name))}
            >
              <IconTrash size={15} aria-hidden />
            </ActionIcon>
          </>
        )}
      </span>
      {problem !== undefined && <Complaint text={problem} />}
    </fieldset>
  );
}

function Complaint({ text }: { text: string }) {
  return (
    <p className="builder-problem" role="alert">
      {text}
    </p>
  );
}

/**
 * The count of a part. A filter with a single part has no count here, because the whole is counted
 * below.
 */
function Counted({ node }: { node: Tree }) {
  const { app, tree, countsParts } = useBuilder();
  const isWhole = node.id === tree.id || (isGroup(tree) && tree.nodes.length === 1);
  const filter = !isWhole && isComplete(node) ? (toFilter(node) as object) : null;
  return <PartCount app={app} filter={filter} isPaused={!countsParts} />;
}

/** Takes the focus if this row was just added or moved. */
function useFocus<Element extends HTMLElement>(ids: readonly string[], selector: string) {
  const { focused, tree } = useBuilder();
  const place = useRef<Element>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each tree may name another row
  useEffect(() => {
    if (focused.current === null || !ids.includes(focused.current)) return;
    focused.current = null;
    place.current?.querySelector<HTMLElement>(selector)?.focus();
  }, [tree]);
  return place;
}
