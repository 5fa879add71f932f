// A secret that is shown this once. The dialog closes only by its button, so that nobody loses the
// secret by a click beside it.
import { Button, Checkbox, Modal, Stack } from '@mantine/core';
import { useState } from 'react';
import { CodeBlock } from '../ui/copy.tsx';

interface SecretOnceProps {
  readonly title: string;
  readonly text: string;
  /** Null: nothing to show. */
  readonly secrets: readonly (readonly [name: string, value: string])[] | null;
  readonly onClose: () => void;
}

export function SecretOnce({ title, text, secrets, onClose }: SecretOnceProps) {
  const [isKept, setKept] = useState(false);
  const close = () => {
    setKept(false);
    onClose();
  };
  return (
    <Modal
      opened={secrets !== null}
      onClose={close}
      title={title}
      size="lg"
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <Stack>
        <p style={{ margin: 0 }}>{text}</p>
        {secrets?.map(([name, value]) => (
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
        <Button onClick={close} disabled={!isKept} style={{ justifySelf: 'end' }}>
          Done
        </Button>
      </Stack>
    </Modal>
  );
}
