// Finds the leaf of a filter that decides about one device: the first false leaf of an AND, the
// last leaf of an OR (contract 5.22). Pure; `explain-queries.ts` asks the database for the truth of
// each leaf.
import type { CheckedCondition, CheckedFilter, CheckedLeaf } from './check-filter.ts';
import type { Comparison, EventLeaf, Filter } from './filter.ts';

export type CheckedLeafOfAnyKind = CheckedLeaf | EventLeaf<CheckedCondition>;
export type WrittenLeaf = (Comparison & { readonly kind: 'leaf' }) | EventLeaf;

/** The leaves of a checked filter, in the order of the filter. */
export function leavesOf(filter: CheckedFilter): CheckedLeafOfAnyKind[] {
  return collect<CheckedLeafOfAnyKind>(filter);
}

/** The leaves of a filter as its author wrote them, in the same order. */
export function writtenLeavesOf(filter: Filter): WrittenLeaf[] {
  return collect<WrittenLeaf>(filter);
}

function collect<Leaf extends { readonly kind: 'leaf' | 'event' }>(node: Tree<Leaf>): Leaf[] {
  if (node.kind === 'and' || node.kind === 'or') {
    return (node as Group<Leaf>).nodes.flatMap((each) => collect<Leaf>(each));
  }
  return node.kind === 'not' ? collect<Leaf>((node as Negation<Leaf>).node) : [node as Leaf];
}

interface Group<Leaf> {
  readonly kind: 'and' | 'or';
  readonly nodes: readonly Tree<Leaf>[];
}
interface Negation<Leaf> {
  readonly kind: 'not';
  readonly node: Tree<Leaf>;
}
type Tree<Leaf> = Leaf | Group<Leaf> | Negation<Leaf>;

export interface Decision {
  readonly matches: boolean;
  /** The place of the deciding leaf among the leaves of the filter. */
  readonly leaf: number;
  /** The truth of that leaf. Under a NOT a true leaf makes a filter false. */
  readonly leafIs: boolean;
}

/** `truths`: whether each leaf of the filter is true, in the order of `leavesOf`. */
export function decide(filter: CheckedFilter, truths: readonly boolean[]): Decision {
  let next = 0;
  const walk = (node: CheckedFilter): Decision => {
    switch (node.kind) {
      case 'and':
      case 'or': {
        const decisions = node.nodes.map(walk);
        // The first part that settles the result decides, or else the last part.
        const ends = node.kind === 'or';
        const found = decisions.find(({ matches }) => matches === ends) ?? decisions.at(-1);
        if (!found) throw new Error('a group of a filter has no node');
        return found;
      }
      case 'not': {
        const inner = walk(node.node);
        return { ...inner, matches: !inner.matches };
      }
      default: {
        const leaf = next++;
        const leafIs = truths[leaf] ?? false;
        return { matches: leafIs, leaf, leafIs };
      }
    }
  };
  return walk(filter);
}
