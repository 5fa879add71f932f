// The edits of a tree: add, change, remove, move, negate, group. Pure: each edit returns a new
// tree, and unchanged nodes stay the same objects.
import { emptyTree, type GroupTree, isGroup, newGroup, newNegation, type Tree } from './tree.ts';

/** Changes the node with this id. Null removes it, and also a negation that becomes empty. */
export function changeNode(tree: Tree, id: string, change: (node: Tree) => Tree | null): Tree {
  return changeIn(tree, id, change) ?? emptyTree();
}

function changeIn(tree: Tree, id: string, change: (node: Tree) => Tree | null): Tree | null {
  if (tree.id === id) return change(tree);
  if (tree.kind === 'not') {
    const node = changeIn(tree.node, id, change);
    return node === tree.node ? tree : node && { ...tree, node };
  }
  if (!isGroup(tree)) return tree;
  const nodes = tree.nodes.flatMap((node) => changeIn(node, id, change) ?? []);
  const isSame = nodes.length === tree.nodes.length && nodes.every((node, i) => node === tree.nodes[i]);
  return isSame ? tree : { ...tree, nodes };
}

export const replaceNode = (tree: Tree, id: string, next: Tree): Tree => changeNode(tree, id, () => next);

/** Removes a node, and all groups that become empty, up to the outermost. */
export function removeNode(tree: Tree, id: string): Tree {
  const group = parentOf(tree, id);
  if (group && group.nodes.length === 1 && outermost(tree).id !== group.id) return removeNode(tree, group.id);
  return changeNode(tree, id, () => null);
}

/** The tree as a group of conditions. A tree that is no group is put into a new group. */
function asGroup(tree: Tree): GroupTree {
  return isGroup(tree) ? tree : newGroup('and', [tree]);
}

/** The group of the outermost conditions, inside any negations. */
function outermost(tree: Tree): Tree {
  return tree.kind === 'not' ? outermost(tree.node) : tree;
}

/**
 * Adds a node at the end of a group. If the id is no group, its node and the new one are put into a
 * new group.
 */
export function addNode(tree: Tree, id: string, node: Tree): Tree {
  return changeNode(tree, id, (found) => {
    const group = asGroup(found);
    return { ...group, nodes: [...group.nodes, node] };
  });
}

/** The innermost group that contains this node, directly or inside negations. */
export function parentOf(tree: Tree, id: string): GroupTree | undefined {
  if (tree.kind === 'not') return parentOf(tree.node, id);
  if (!isGroup(tree)) return undefined;
  for (const node of tree.nodes) {
    if (isHeldBy(node, id)) return tree;
    const inner = parentOf(node, id);
    if (inner) return inner;
  }
  return undefined;
}

/** Whether an item of a group is this node, or a negation of it. */
function isHeldBy(item: Tree, id: string): boolean {
  return item.id === id || (item.kind === 'not' && isHeldBy(item.node, id));
}

/** Moves an item within its group by a number of places. */
export function shiftNode(tree: Tree, id: string, by: -1 | 1): Tree {
  const group = parentOf(tree, id);
  const at = group?.nodes.findIndex((node) => node.id === id) ?? -1;
  const [item, other] = [group?.nodes[at], group?.nodes[at + by]];
  if (!group || !item || !other) return tree;
  const nodes = group.nodes.map((node, i) => (i === at ? other : i === at + by ? item : node));
  return changeNode(tree, group.id, () => ({ ...group, nodes }));
}

/** The neighbouring groups of an item, into which it can move. */
export function groupsBeside(tree: Tree, id: string): readonly GroupTree[] {
  return (parentOf(tree, id)?.nodes ?? []).flatMap((node) => {
    const inner = outermost(node);
    return node.id !== id && isGroup(inner) ? [inner] : [];
  });
}

/** Moves an item to the end of another group. A group that becomes empty is removed. */
export function moveInto(tree: Tree, id: string, groupId: string): Tree {
  const item = parentOf(tree, id)?.nodes.find((node) => node.id === id);
  if (!item) return tree;
  const added = changeNode(tree, groupId, (group) =>
    isGroup(group) ? { ...group, nodes: [...group.nodes, { ...item, id: `${item.id}+` }] } : group,
  );
  return changeNode(removeNode(added, id), `${item.id}+`, () => item);
}

/**
 * Moves an item out of its group, to the place after that group. Only an inner group has such a
 * place.
 */
export function moveOut(tree: Tree, id: string): Tree {
  const group = parentOf(tree, id);
  const outer = group && parentOf(tree, group.id);
  const item = group?.nodes.find((node) => node.id === id);
  if (!group || !outer || !item) return tree;
  const copy = { ...item, id: `${item.id}+` };
  const nodes = outer.nodes.flatMap((node) => (isHeldBy(node, group.id) ? [node, copy] : [node]));
  const added = changeNode(tree, outer.id, () => ({ ...outer, nodes }));
  return changeNode(removeNode(added, id), copy.id, () => item);
}

export const canMoveOut = (tree: Tree, id: string): boolean => {
  const group = parentOf(tree, id);
  return group !== undefined && parentOf(tree, group.id) !== undefined;
};

/** Puts a node into a group of its own, to which others can be added. */
export const wrapNode = (tree: Tree, id: string, kind: 'and' | 'or'): Tree =>
  changeNode(tree, id, (node) => newGroup(kind, [node]));

/** Turns a node into its opposite: removes its negation, or adds one. */
export const negateNode = (tree: Tree, id: string): Tree =>
  changeNode(tree, id, (node) => (node.kind === 'not' ? node.node : newNegation(node)));
