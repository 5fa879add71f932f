// The acts on a condition or a group, by mouse and by keyboard alike.
import { ActionIcon, Menu } from '@mantine/core';
import {
  IconArrowDown,
  IconArrowUp,
  IconBrackets,
  IconBracketsOff,
  IconCornerLeftUp,
  IconCornerRightDown,
  IconDots,
  IconExclamationMark,
  IconTrash,
  type TablerIcon,
} from '@tabler/icons-react';
import { useBuilder } from './builder-context.ts';
import {
  canMoveOut,
  groupsBeside,
  moveInto,
  moveOut,
  negateNode,
  parentOf,
  removeNode,
  shiftNode,
  wrapNode,
} from './edits.ts';
import { isGroup, strip, type Tree } from './tree.ts';
import { tell } from './words.ts';

interface NodeMenuProps {
  readonly node: Tree;
  /** `Condition 2`, `Group 1`. */
  readonly name: string;
}

/** `key`: two groups may have the same label, and then their ids tell their acts apart. */
type NodeAct = readonly [label: string, Icon: TablerIcon, act: () => void, key?: string];

export function NodeMenu({ node, name }: NodeMenuProps) {
  const { tree, apply } = useBuilder();
  const parent = parentOf(tree, node.id);
  const at = parent?.nodes.findIndex(({ id }) => id === node.id) ?? -1;
  const isNegated = node.kind === 'not';
  const move = (next: Tree, said: string) => apply(next, { focus: node.id, said: `${name} ${said}.` });
  const { id } = node;
  const acts: readonly (NodeAct | false | undefined)[] = [
    at > 0 && ['Move up', IconArrowUp, () => move(shiftNode(tree, id, -1), 'moved up')],
    parent &&
      at < parent.nodes.length - 1 && ['Move down', IconArrowDown, () => move(shiftNode(tree, id, 1), 'moved down')],
    ...groupsBeside(tree, id).map(
      (group): NodeAct => [
        `Move into “${shortened(tell(group))}”`,
        IconCornerRightDown,
        () => move(moveInto(tree, id, group.id), 'moved into the group'),
        group.id,
      ],
    ),
    canMoveOut(tree, id) && [
      'Move out of the group',
      IconCornerLeftUp,
      () => move(moveOut(tree, id), 'moved out of its group'),
    ],
    parent && [
      'Put in a group',
      IconBrackets,
      () => move(wrapNode(tree, id, parent.kind === 'and' ? 'or' : 'and'), 'stands in a group of its own'),
    ],
    isNegated
      ? ['Take the “not” away', IconBracketsOff, () => apply(negateNode(tree, id), { said: `${name} is as it was.` })]
      : [
          'Turn around: not this',
          IconExclamationMark,
          () => apply(negateNode(tree, id), { said: `${name} is turned around.` }),
        ],
  ];
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`More for ${name.toLowerCase()}`} data-menu-of={id}>
          <IconDots size={16} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {acts
          .filter((each) => !!each)
          .map(([label, Icon, act, key = label]) => (
            <Menu.Item key={key} leftSection={<Icon size={15} aria-hidden />} onClick={act}>
              {label}
            </Menu.Item>
          ))}
        <Menu.Divider />
        <Menu.Item
          color="red"
          leftSection={<IconTrash size={15} aria-hidden />}
          onClick={() => apply(removeNode(tree, id), neighbourOf(tree, node, name))}
        >
          {isGroup(strip(node).inner) ? 'Remove the group' : 'Remove'}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/**
 * The row that takes the focus when another is removed, so that the focus does not jump to the
 * page's top.
 */
export function neighbourOf(tree: Tree, node: Tree, name: string) {
  const parent = parentOf(tree, node.id);
  const at = parent?.nodes.findIndex(({ id }) => id === node.id) ?? 0;
  const next = parent?.nodes[at + 1] ?? parent?.nodes[at - 1];
  return { focus: next?.id ?? parent?.id ?? tree.id, said: `${name} was removed.` };
}

const shortened = (text: string): string => (text.length > 48 ? `${text.slice(0, 47)}…` : text);
