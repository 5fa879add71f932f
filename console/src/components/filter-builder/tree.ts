// A filter in the builder: nodes with ids, so that a row keeps its identity while it is edited and
// moved. Comparisons keep their JSON as written, so nothing is lost in either direction. Pure.

export type Json = Readonly<Record<string, unknown>>;

export interface GroupTree {
  readonly id: string;
  readonly kind: 'and' | 'or';
  readonly nodes: readonly Tree[];
}
interface NegationTree {
  readonly id: string;
  readonly kind: 'not';
  readonly node: Tree;
}
/** A comparison of a field, a condition on events, or a part of JSON that is no filter. */
export interface LeafTree {
  readonly id: string;
  readonly kind: 'field' | 'event' | 'unknown';
  readonly json: unknown;
}
export type Tree = GroupTree | NegationTree | LeafTree;

let lastId = 0;
const newId = (): string => `n${++lastId}`;

export const isGroup = (tree: Tree): tree is GroupTree => tree.kind === 'and' || tree.kind === 'or';
export const isLeaf = (tree: Tree): tree is LeafTree => 'json' in tree;

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Reads JSON into a tree. Any JSON has a tree, because a part that is no filter is kept unchanged.
 */
export function toTree(json: unknown): Tree {
  const id = newId();
  if (!isRecord(json)) return { id, kind: 'unknown', json };
  const [key, ...others] = Object.keys(json);
  if ((key === 'and' || key === 'or') && others.length === 0) {
    const nodes = json[key];
    if (Array.isArray(nodes)) return { id, kind: key, nodes: nodes.map(toTree) };
  }
  if (key === 'not' && others.length === 0) return { id, kind: 'not', node: toTree(json['not']) };
  if (typeof json['event'] === 'string') return { id, kind: 'event', json };
  return { id, kind: typeof json['field'] === 'string' ? 'field' : 'unknown', json };
}

/** The JSON of a tree, which may be incomplete. */
export function toFilter(tree: Tree): unknown {
  if (isGroup(tree)) return { [tree.kind]: tree.nodes.map(toFilter) };
  if (tree.kind === 'not') return { not: toFilter(tree.node) };
  return tree.json;
}

/** A tree without a condition. */
export const emptyTree = (): GroupTree => ({ id: newId(), kind: 'and', nodes: [] });
export const newCondition = (field = ''): LeafTree => ({ id: newId(), kind: 'field', json: { field, op: 'eq' } });
export const newEventCondition = (event = ''): LeafTree => ({ id: newId(), kind: 'event', json: { event } });
export const newGroup = (kind: 'and' | 'or', nodes: readonly Tree[] = []): GroupTree => ({ id: newId(), kind, nodes });
export const newNegation = (node: Tree): NegationTree => ({ id: newId(), kind: 'not', node });

/** The comparison of a leaf. A leaf that is no object has no fields. */
export const jsonOf = ({ json }: LeafTree): Json => (isRecord(json) ? json : {});

/** The same leaf with other fields. Undefined removes a field. */
export function withFields(leaf: LeafTree, fields: Json): LeafTree {
  const json = Object.fromEntries(
    Object.entries({ ...jsonOf(leaf), ...fields }).filter(([, value]) => value !== undefined),
  );
  return { ...leaf, json };
}

/** The inner node of a tree without its negations, and how many there are. */
export function strip(tree: Tree): { readonly inner: GroupTree | LeafTree; readonly negations: number } {
  if (tree.kind !== 'not') return { inner: tree, negations: 0 };
  const { inner, negations } = strip(tree.node);
  return { inner, negations: negations + 1 };
}

/** Every node, the outer ones first. */
export function* nodesOf(tree: Tree): Generator<Tree> {
  yield tree;
  if (isGroup(tree)) for (const node of tree.nodes) yield* nodesOf(node);
  if (tree.kind === 'not') yield* nodesOf(tree.node);
}

type Path = readonly (string | number)[];

/** The node of an issue from the service: the innermost node on the path. */
export function nodeAt(tree: Tree, path: Path): Tree {
  const [step, index, ...rest] = path;
  if (isGroup(tree) && step === tree.kind && typeof index === 'number') {
    const node = tree.nodes[index];
    return node ? nodeAt(node, rest) : tree;
  }
  if (tree.kind === 'not' && step === 'not') return nodeAt(tree.node, path.slice(1));
  return tree;
}
