// Secrets that are shown this once, in a window that outlives the page which made them, and the
// frame of the pages. The window closes only by its button, so that nobody loses a secret by a click
// beside it. Further secrets wait for their turn.
import { Button, Checkbox, Modal, Stack } from '@mantine/core';
import { useState, useSyncExternalStore } from 'react';
import { CodeBlock } from '../ui/copy.tsx';

interface Secrets {
  readonly title: string;
  readonly text: string;
  readonly secrets: readonly (readonly [name: string, value: string])[];
}

interface Shown extends Secrets {
  readonly close: () => void;
}

let waiting: readonly Shown[] = [];
const hearers = new Set<() => void>();

function change(next: readonly Shown[]): void {
  waiting = next;
  for (const hear of hearers) hear();
}

function subscribe(hear: () => void): () => void {
  hearers.add(hear);
  return () => hearers.delete(hear);
}

/** Resolves when the person has kept the secrets. */
export const showOnce = (secrets: Secrets): Promise<void> =>
  new Promise((close) => change([...waiting, { ...secrets, close }]));

export function SecretsOnce() {
  const [shown] = useSyncExternalStore(subscribe, () => waiting);
  const [isKept, setKept] = useState(false);
  const [isClosing, setClosing] = useState(false);
  const done = () => {
    setClosing(true);
    shown?.close();
  };
  return (
    <Modal
      opened={shown !== undefined && !isClosing}
      onClose={done}
      // The secrets stay while the window fades.
      onExitTransitionEnd={() => {
        setKept(false);
        setClosing(false);
        change(waiting.slice(1));
      }}
      title={shown?.title}
      size="lg"
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <Stack>
        <p style={{ margin: 0 }}>{shown?.text}</p>
        {shown?.secrets.map(([name, value]) => (
          <div key={name}>
            <p style={{ margin: '0 0 4px', fontWeight: 500 }}>{name}</p>
            <CodeBlock label={name} code={value} isWrapped />
          </div>
        ))}
        <Checkbox
          label="I keep it in a safe place"
          checked={isKept}
          onChange={({ currentTarget }) => setKept(currentTarget.checked)}
        />
        <Button onClick={done} disabled={!isKept} style={{ justifySelf: 'end' }}>
          Done
        </Button>
      </Stack>
    </Modal>
  );
}
