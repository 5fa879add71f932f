// Secrets that are shown this once, in a window of the frame that outlives the page which made them.
// It closes only by its button, so that nobody loses a secret by a click beside it.
import { Button, Checkbox, Modal, Stack } from '@mantine/core';
import { useEffect, useState } from 'react';
import { CodeBlock } from '../ui/copy.tsx';

interface Secrets {
  readonly title: string;
  readonly text: string;
  readonly secrets: readonly (readonly [name: string, value: string])[];
}

interface Shown extends Secrets {
  readonly close: () => void;
}

let show = (_shown: Shown): void => undefined;

/** Resolves when the person has kept the secrets. */
export const showOnce = (secrets: Secrets): Promise<void> => new Promise((close) => show({ ...secrets, close }));

const nothing: Shown = { title: '', text: '', secrets: [], close: () => undefined };

export function SecretsOnce() {
  const [{ title, text, secrets, close }, setShown] = useState(nothing);
  const [isKept, setKept] = useState(false);
  useEffect(() => {
    show = setShown;
  }, []);
  const done = () => {
    setKept(false);
    // The title stays while the window fades.
    setShown({ ...nothing, title });
    close();
  };
  return (
    <Modal
      opened={secrets.length > 0}
      onClose={done}
      title={title}
      size="lg"
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <Stack>
        <p style={{ margin: 0 }}>{text}</p>
        {secrets.map(([name, value]) => (
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
