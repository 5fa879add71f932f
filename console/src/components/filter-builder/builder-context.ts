// Data for every part of the builder: the whole tree, the way to change it, and the app's fields
// and events.
import { createContext, useContext } from 'react';
import type { Field } from './fields.ts';
import type { Tree } from './tree.ts';

export interface Catalog {
  readonly fields: readonly Field[];
  readonly fieldOf: (name: string) => Field | undefined;
  readonly events: readonly CataloguedEvent[];
}

interface CataloguedEvent {
  readonly name: string;
  readonly properties: readonly {
    readonly key: string;
    readonly type: string;
    /** Absent if the role does not see them. */
    readonly samples?: readonly unknown[] | undefined;
  }[];
}

export interface Builder {
  readonly app: string;
  readonly tree: Tree;
  readonly catalog: Catalog;
  readonly isReadOnly: boolean;
  /**
   * Changes the tree. `focus`: the row that then has the focus. `said`: text for screen readers.
   */
  readonly apply: (next: Tree, act?: { readonly focus?: string; readonly said?: string }) => void;
  /** The row that takes the focus when it is drawn. */
  readonly focused: { current: string | null };
  /** The problem of a node, in the words of the service. */
  readonly problemOf: (id: string) => string | undefined;
  /** True: conditions may be counted, because the whole filter is counted too. */
  readonly countsParts: boolean;
}

export const BuilderContext = createContext<Builder | null>(null);

export function useBuilder(): Builder {
  const builder = useContext(BuilderContext);
  if (!builder) throw new Error('this part stands outside a filter builder');
  return builder;
}
