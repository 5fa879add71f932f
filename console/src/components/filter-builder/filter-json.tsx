// The JSON of a filter beside the builder, editable. Typed text goes into the builder as soon as it
// is JSON, and changes in the builder are written here. Neither loses parts of the other.
import { Textarea } from '@mantine/core';
import { useState } from 'react';
import { type Tree, toFilter, toTree } from './tree.ts';

interface FilterJsonProps {
  readonly value: Tree;
  readonly onChange: (next: Tree, isTyping: boolean) => void;
  readonly isReadOnly?: boolean;
}

/** A typed text, and its tree. */
interface Typed {
  readonly text: string;
  readonly of: Tree;
  readonly problem: string | null;
}

export function FilterJson({ value, onChange, isReadOnly = false }: FilterJsonProps) {
  const [typed, setTyped] = useState<Typed | null>(null);
  const own = typed?.of === value ? typed : null;
  // A change in the builder makes another tree, whose JSON replaces the typed text.
  if (typed && !own) setTyped(null);
  const read = (text: string) => {
    try {
      const next = toTree(JSON.parse(text));
      setTyped({ text, of: next, problem: null });
      onChange(next, true);
    } catch (error) {
      setTyped({ text, of: value, problem: error instanceof Error ? error.message : String(error) });
    }
  };
  return (
    <Textarea
      className="filter-json"
      label="Filter as JSON"
      description="As the API takes it. Paste one to see it as a sentence."
      classNames={{ input: 'mono' }}
      autosize
      minRows={6}
      maxRows={20}
      spellCheck={false}
      readOnly={isReadOnly}
      value={own?.text ?? JSON.stringify(toFilter(value), null, 2)}
      error={own?.problem ?? undefined}
      onChange={({ currentTarget }) => read(currentTarget.value)}
      onBlur={() => {
        // The text of the present tree is then written in the usual form.
        if (own?.problem === null) setTyped(null);
      }}
    />
  );
}
