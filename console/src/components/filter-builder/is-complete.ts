// Whether a filter can be counted and saved: every condition has all its parts. Pure.
import { isComparisonComplete, isEventComplete } from './fields.ts';
import { isGroup, jsonOf, nodesOf, type Tree } from './tree.ts';

export function isComplete(tree: Tree): boolean {
  return [...nodesOf(tree)].every((node) => {
    if (isGroup(node)) return node.nodes.length > 0;
    switch (node.kind) {
      case 'not':
        return true;
      case 'field':
        return isComparisonComplete(jsonOf(node));
      case 'event':
        return isEventComplete(jsonOf(node));
      default:
        return false;
    }
  });
}
