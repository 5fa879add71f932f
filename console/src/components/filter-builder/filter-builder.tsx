// The filter builder: nested groups that read as sentences, with a count of each condition and of
// the whole. `useFilterTree` holds the tree, so that a page can show its JSON beside it and save
// it.
import { VisuallyHidden } from '@mantine/core';
import { useMemo, useRef, useState } from 'react';
import { Problem } from '../../api/client.ts';
import { ProblemPanel } from '../problem.tsx';
import { type Builder, BuilderContext } from './builder-context.ts';
import { Group } from './group.tsx';
import { isComplete } from './is-complete.ts';
import { useLiveCount, WholeCount } from './live-count.tsx';
import { isGroup, newGroup, nodeAt, strip, type Tree, toFilter, toTree } from './tree.ts';
import { useCatalog } from './use-catalog.ts';

interface FilterBuilderProps {
  readonly appId: string;
  /** The tree of `toTree(filter)` or `emptyTree()`, or the last change of it. */
  readonly value: Tree;
  /** `isTyping`: the change is one of many, such as a letter. */
  readonly onChange: (next: Tree, isTyping: boolean) => void;
  readonly isReadOnly?: boolean;
  /**
   * The segment of the filter. People who may only read count the stored segment, and no filter of
   * their own.
   */
  readonly segmentId?: string;
}

/** The filter of a tree that has all its parts; null while one is missing. */
export const readFilter = (tree: Tree): object | null => (isComplete(tree) ? (toFilter(tree) as object) : null);

export function FilterBuilder(props: FilterBuilderProps) {
  const { appId, value: tree, onChange, isReadOnly = false, segmentId } = props;
  const catalog = useCatalog(appId);
  const [said, setSaid] = useState('');
  const focused = useRef<string | null>(null);
  const filter = readFilter(tree);
  const ofSegment = segmentId === undefined ? null : { segment_id: segmentId };
  const live = useLiveCount(appId, isReadOnly ? ofSegment : filter && { filter });
  const problems = useMemo(() => problemsOf(tree, live.error), [tree, live.error]);
  const builder: Builder = {
    app: appId,
    tree,
    catalog,
    isReadOnly,
    focused,
    countsParts: !isReadOnly && (filter === null || !live.isMoving),
    problemOf: (id) => problems.get(id),
    apply(next, act = {}) {
      focused.current = act.focus ?? null;
      setSaid(act.said ?? '');
      onChange(next, act.said === undefined && act.focus === undefined);
    },
  };
  const { inner, negations } = strip(tree);
  // A single condition, or a negated negation, is shown in a frame that is not part of the filter.
  const isPlain = isGroup(inner) && negations < 2;
  const frame = useMemo(() => ({ ...newGroup('and'), nodes: [tree] }), [tree]);
  if (catalog.error && !catalog.isReady) return <ProblemPanel error={catalog.error} />;
  return (
    <BuilderContext value={isPlain ? builder : framed(builder, frame)}>
      <div className="builder">
        {isPlain ? (
          <Group node={tree} group={inner} name="The filter" isOuter />
        ) : (
          <Group node={frame} group={frame} name="The filter" isOuter />
        )}
        <WholeCount live={live} />
        <VisuallyHidden role="status">{said}</VisuallyHidden>
      </div>
    </BuilderContext>
  );
}

/** The builder of a tree in a frame. When the frame still has one item, it is removed again. */
function framed(builder: Builder, frame: Tree): Builder {
  return {
    ...builder,
    tree: frame,
    apply(next, act) {
      const isFrame = isGroup(next) && next.kind === 'and' && next.nodes.length === 1 && next.id === frame.id;
      builder.apply(isFrame && next.nodes[0] ? next.nodes[0] : next, act);
    },
  };
}

/** The service's messages by node. A problem without a node is shown at the outermost group. */
function problemsOf(tree: Tree, error: unknown): ReadonlyMap<string, string> {
  const problems = new Map<string, string>();
  if (!(error instanceof Problem)) return problems;
  const slow = error.path && { path: error.path, message: 'This part takes the longest to count.' };
  for (const { path, message } of slow ? [slow] : error.status === 400 ? error.issues : []) {
    const { id } = nodeAt(tree, path[0] === 'filter' ? path.slice(1) : path);
    problems.set(id, problems.has(id) ? `${problems.get(id)} ${message}` : message);
  }
  return problems;
}

interface FilterHistory {
  readonly tree: Tree;
  readonly set: (next: Tree, isTyping: boolean) => void;
  /** Null: there is nothing to undo. */
  readonly undo: (() => void) | null;
}

const typingPauseMs = 800;
const undoMax = 100;

/**
 * Holds the tree of a filter that a form has as JSON, with its undo steps. A filter that comes from
 * elsewhere makes a new tree.
 */
export function useFilterTree(filter: unknown, onChange: (filter: unknown) => void): FilterHistory {
  const [{ tree, before }, setState] = useState(() => ({ tree: toTree(filter), before: [] as readonly Tree[] }));
  /** The time of the last typing; 0 after any other change. */
  const typedAt = useRef(0);
  const isOfForm = JSON.stringify(toFilter(tree)) === JSON.stringify(filter);
  const other = useMemo(() => (isOfForm ? null : toTree(filter)), [isOfForm, filter]);
  const shown = other ?? tree;
  const show = (next: Tree, past: readonly Tree[]) => {
    setState({ tree: next, before: past });
    onChange(toFilter(next));
  };
  return {
    tree: shown,
    set(next, isTyping) {
      // Letters that are typed in a row are one undo step.
      const goesOn = isTyping && Date.now() - typedAt.current < typingPauseMs;
      typedAt.current = isTyping ? Date.now() : 0;
      show(next, goesOn ? before : [...before.slice(-undoMax), shown]);
    },
    undo:
      before.length === 0
        ? null
        : () => {
            typedAt.current = 0;
            show(before.at(-1) ?? shown, before.slice(0, -1));
          },
  };
}
