// The builder loses no part of a filter, whatever people edit around a condition.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { randomFilter } from '../../../../rig/src/filters/random-filter.ts';
import {
  addNode,
  canMoveOut,
  groupsBeside,
  moveInto,
  moveOut,
  negateNode,
  parentOf,
  removeNode,
  replaceNode,
  shiftNode,
  wrapNode,
} from './edits.ts';
import { isComparisonComplete, readDuration, valueFor } from './fields.ts';
import { isComplete } from './is-complete.ts';
import { fromLocalInput, toLocalInput } from './local-instant.ts';
import {
  isGroup,
  isLeaf,
  jsonOf,
  newCondition,
  nodeAt,
  nodesOf,
  type Tree,
  toFilter,
  toTree,
  withFields,
} from './tree.ts';
import { tell } from './words.ts';

const filters = randomFilter(new Date('2026-11-21T10:00:00Z'));
/** The comparisons of a tree, in any order. */
const leavesOf = (tree: Tree): string[] =>
  [...nodesOf(tree)].flatMap((node) => (isLeaf(node) ? [JSON.stringify(node.json)] : [])).sort();

describe('a filter', () => {
  it('goes through the builder unchanged, to the order of its keys', () => {
    fc.assert(
      fc.property(filters, (filter) => {
        expect(JSON.stringify(toFilter(toTree(filter)))).toBe(JSON.stringify(filter));
      }),
      { numRuns: 2000 },
    );
  });

  it('is complete in the builder when the grammar accepts it', () => {
    fc.assert(
      fc.property(filters, (filter) => {
        expect(isComplete(toTree(filter))).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('has a sentence, whatever it says', () => {
    fc.assert(
      fc.property(filters, (filter) => {
        expect(tell(toTree(filter))).toMatch(/\S/);
      }),
      { numRuns: 500 },
    );
  });

  it('that is not valid is kept as it was typed', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const json = JSON.parse(text);
        expect(toFilter(toTree(json))).toEqual(json);
      }),
      { numRuns: 1000 },
    );
    expect(isComplete(toTree({ and: [{ what: 1 }] }))).toBe(false);
  });
});

describe('an edit in the builder', () => {
  it('moves, groups and turns around every node without a loss, and undoes itself', () => {
    fc.assert(
      fc.property(filters, (filter) => {
        const tree = toTree(filter);
        const leaves = leavesOf(tree);
        for (const node of nodesOf(tree)) {
          const { id } = node;
          const turned = negateNode(tree, id);
          // The row that is negated is the negation itself, or the node inside it.
          const around = [...nodesOf(turned)].find((each) => each.kind === 'not' && each.node.id === id);
          const row = node.kind === 'not' ? node.node : around;
          // A negation of a negation contains another one, which is removed the next time.
          const isDouble = node.kind === 'not' && node.node.kind === 'not';
          if (!isDouble) expect(toFilter(negateNode(turned, row?.id ?? ''))).toEqual(filter);
          for (const next of [
            wrapNode(tree, id, 'or'),
            shiftNode(tree, id, 1),
            shiftNode(tree, id, -1),
            ...groupsBeside(tree, id).map((group) => moveInto(tree, id, group.id)),
            ...(canMoveOut(tree, id) ? [moveOut(tree, id)] : []),
          ]) {
            expect(leavesOf(next)).toEqual(leaves);
            const ids = [...nodesOf(next)].map((node) => node.id);
            expect(new Set(ids).size).toBe(ids.length);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it('removes exactly the nodes below a node', () => {
    fc.assert(
      fc.property(filters, (filter) => {
        const tree = toTree(filter);
        for (const node of nodesOf(tree)) {
          const gone = leavesOf(node);
          const left = leavesOf(removeNode(tree, node.id));
          expect([...left, ...gone].sort()).toEqual(leavesOf(tree));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('adds to a group, and puts a lone condition into one with the new', () => {
    const german = { field: 'country', op: 'eq', value: 'DE' };
    const tree = toTree(german);
    const added = addNode(tree, tree.id, withFields(newCondition('properties.plan'), { value: 'pro' }));
    expect(toFilter(added)).toEqual({ and: [german, { field: 'properties.plan', op: 'eq', value: 'pro' }] });
    const inner = [...nodesOf(toTree({ and: [german, { not: { or: [german] } }] }))];
    const group = inner.find((node) => node.kind === 'or');
    const root = inner[0];
    if (!root || !group) throw new Error('the tree has both');
    const next = removeNode(root, [...nodesOf(group)][1]?.id ?? '');
    // A group that becomes empty is removed, together with its negation.
    expect(toFilter(next)).toEqual({ and: [german] });
    expect(parentOf(next, group.id)).toBeUndefined();
  });

  it('changes a comparison and nothing beside it', () => {
    const tree = toTree({
      and: [
        { field: 'a', op: 'eq', value: 1 },
        { event: 'x', count: null },
      ],
    });
    const [, first, second] = [...nodesOf(tree)];
    if (!first || !second || !isLeaf(first)) throw new Error('the tree has both');
    const next = replaceNode(tree, first.id, withFields(first, { op: 'exists', value: undefined }));
    expect(toFilter(next)).toEqual({
      and: [
        { field: 'a', op: 'exists' },
        { event: 'x', count: null },
      ],
    });
    expect(isGroup(next) && next.nodes[1]).toBe(second);
  });
});

it('an issue of the service stands at the condition that its path names', () => {
  const tree = toTree({ and: [{ not: { or: [{ field: 'a', op: 'eq', value: 1 }, { event: 'x' }] } }] });
  const at = (path: (string | number)[]) => {
    const node = nodeAt(tree, path);
    return isLeaf(node) ? jsonOf(node) : node.kind;
  };
  expect(at(['and', 0, 'not', 'or', 1, 'event'])).toEqual({ event: 'x' });
  expect(at(['and', 0, 'not', 'or', 0, 'value'])).toMatchObject({ field: 'a' });
  expect(at(['and', 0, 'not', 'or'])).toBe('or');
  expect(at([])).toBe('and');
  expect(at(['and', 7])).toBe('and');
});

describe('values', () => {
  it.each([
    ['in', 'DE', ['DE']],
    ['eq', ['DE', 'FR'], 'DE'],
    ['exists', 'DE', undefined],
    ['within_last', '2026-11-21T10:00:00Z', '30d'],
    ['within_last', '7d', '7d'],
    ['before', '30d', undefined],
    ['before', '2026-11-21T10:00:00Z', '2026-11-21T10:00:00Z'],
    ['eq', undefined, undefined],
    ['in', undefined, undefined],
    ['eq', '', ''],
    ['eq', false, false],
  ])('for %s, %j becomes %j', (op, before, after) => {
    expect(valueFor(op, before)).toEqual(after);
  });

  it.each([
    [{ field: 'country', op: 'eq', value: '' }, true],
    [{ field: 'country', op: 'contains', value: '' }, false],
    [{ field: 'country', op: 'eq' }, false],
    [{ field: 'country', op: 'in', value: [] }, false],
    [{ field: 'country', op: 'exists' }, true],
    [{ field: '', op: 'exists' }, false],
    [{ field: 'properties.', op: 'exists' }, false],
  ])('%j is complete: %s', (comparison, isWhole) => {
    expect(isComparisonComplete(comparison)).toBe(isWhole);
  });

  it('durations and instants keep their meaning', () => {
    expect(readDuration('30d')).toEqual({ number: 30, unit: 'd' });
    expect(readDuration('30 days')).toBeUndefined();
    expect(fromLocalInput(toLocalInput('2026-11-21T10:15:30Z'))).toBe('2026-11-21T10:15:30.000Z');
    expect(toLocalInput('soon')).toBe('');
    expect(fromLocalInput('')).toBeUndefined();
  });
});

describe('sentences', () => {
  it.each([
    [
      {
        and: [
          { field: 'country', op: 'eq', value: 'DE' },
          { field: 'properties.plan', op: 'neq', value: 'free' },
        ],
      },
      'country is DE and plan is not free',
    ],
    [
      { and: [{ field: 'country', op: 'exists' }, { or: [{ event: 'a' }, { not: { event: 'b' } }] }] },
      'country has a value and (did a or not (did b))',
    ],
    [{ not: { or: [{ event: 'a' }, { event: 'b' }] } }, 'not (did a or did b)'],
    [
      {
        event: 'purchase',
        count: { op: 'gte', value: 2 },
        within: '90d',
        where: [{ field: 'properties.amount', op: 'gte', value: 50 }],
      },
      'did purchase at least 2 times where amount is at least 50 in the last 90 days',
    ],
    [{ event: 'purchase', count: { op: 'eq', value: 0 } }, 'did not do purchase'],
    [
      { event: 'purchase', last: { op: 'within_last', value: '60d' } },
      'did purchase, the latest within the last 60 days',
    ],
    [{ field: 'device.platform', op: 'in', value: ['ios', 'android'] }, 'platform is one of ios or android'],
    [{ field: 'device.identified', op: 'eq', value: false }, 'device belongs to no user'],
    [{ field: 'first_name', op: 'contains', value: 'a b' }, 'first name contains “a b”'],
    [{ field: 'created_at', op: 'within_last', value: '1d' }, 'first known is within the last day'],
    [{ and: [] }, 'nothing yet'],
  ])('%j reads as %s', (filter, sentence) => {
    expect(tell(toTree(filter))).toBe(sentence);
  });
});
