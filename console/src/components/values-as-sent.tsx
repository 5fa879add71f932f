// The values of an event as its sender wrote them. Few values are on one line. More are folded,
// with line breaks, and can be copied.
import { UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import { CodeBlock } from '../ui/copy.tsx';

const shortMax = 64;

export function ValuesAsSent({ values }: { values: Readonly<Record<string, unknown>> }) {
  const [isOpen, setOpen] = useState(false);
  const entries = Object.entries(values);
  if (entries.length === 0) return <span className="muted">no values</span>;
  const line = entries.map(([key, value]) => `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const text = line.join(' · ');
  return (
    <div className="values">
      <UnstyledButton className="values-line" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'Hide the values' : text.length > shortMax ? `${text.slice(0, shortMax)}…` : text}
      </UnstyledButton>
      {isOpen && <CodeBlock label="Values of the event" code={JSON.stringify(values, null, 2)} isWrapped />}
    </div>
  );
}
