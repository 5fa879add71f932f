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

export function NodeMenu({ node, name }: NodeMenuProps) {
  const { tree, apply } = useBuilder();
  const parent = parentOf(tree, node.id);
  const at = parent?.nodes.findIndex(({ id }) => id === node.id) ?? -1;
  const beside = groupsBeside(tree, node.id);
  const isNegated = node.kind === 'not';
  const isOuter = parent === undefined;
  const move = (next: Tree, said: string) => apply(next, { focus: node.id, said });
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`More for ${name.toLowerCase()}`} data-menu-of={node.id}>
          <IconDots size={16} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {at > 0 && (
          <Menu.Item
            leftSection={<IconArrowUp size={15} aria-hidden />}
            onClick={() => move(shiftNode(tree, node.id, -1), `${name} moved up.`)}
          >
            Move up
          </Menu.Item>
        )}
        {parent && at < parent.nodes.length - 1 && (
          <Menu.Item
            leftSection={<IconArrowDown size={15} aria-hidden />}
            onClick={() => move(shiftNode(tree, node.id, 1), `${name} moved down.`)}
          >
            Move down
          </Menu.Item>
        )}
        {beside.map((group) => (
          <Menu.Item
            key={group.id}
            leftSection={<IconCornerRightDown size={15} aria-hidden />}
            onClick={() => move(moveInto(tree, node.id, group.id), `${name} moved into the group.`)}
          >
            Move into “{shortened(tell(group))}”
          </Menu.Item>
        ))}
        {canMoveOut(tree, node.id) && (
          <Menu.Item
            leftSection={<IconCornerLeftUp size={15} aria-hidden />}
            onClick={() => move(moveOut(tree, node.id), `${name} moved out of its group.`)}
          >
            Move out of the group
          </Menu.Item>
        )}
        {!isOuter && (
          <Menu.Item
            leftSection={<IconBrackets size={15} aria-hidden />}
            onClick={() =>
              apply(wrapNode(tree, node.id, parent.kind === 'and' ? 'or' : 'and'), {
                focus: node.id,
                said: `${name} stands in a group of its own.`,
              })
            }
          >
            Put in a group
          </Menu.Item>
        )}
        <Menu.Item
          leftSection={
            isNegated ? <IconBracketsOff size={15} aria-hidden /> : <IconExclamationMark size={15} aria-hidden />
          }
          onClick={() =>
            apply(negateNode(tree, node.id), {
              said: isNegated ? `${name} is as it was.` : `${name} is turned around.`,
            })
          }
        >
          {isNegated ? 'Take the “not” away' : 'Turn around: not this'}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item
          color="red"
          leftSection={<IconTrash size={15} aria-hidden />}
          onClick={() => apply(removeNode(tree, node.id), neighbourOf(tree, node, name))}
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
