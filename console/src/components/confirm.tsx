// Dialogs for destructive acts. They name the affected objects first, and for the worst acts a
// person must type a name.
import { Button, type ButtonProps, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type FormEvent, type ReactNode, useState } from 'react';
import { ProblemPanel } from './problem.tsx';

interface ConfirmProps {
  readonly label: string;
  readonly title: string;
  /** The effect, and the number of objects that it concerns. */
  readonly effect: ReactNode;
  /**
   * The label of the button that confirms. Default: the label of the button that opens the dialog.
   */
  readonly act?: string;
  /** The text that has to be typed first. */
  readonly typed?: string;
  readonly isDestructive?: boolean;
  readonly run: () => Promise<unknown>;
  /** Called when the dialog closes, done or not. */
  readonly onClose?: () => void;
  readonly button?: ButtonProps;
}

export function ConfirmButton(props: ConfirmProps) {
  const { label, title, effect, act = label, typed, isDestructive = false, run, onClose, button } = props;
  const [isOpen, { open, close: hide }] = useDisclosure(false);
  const [text, setText] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const close = () => {
    hide();
    onClose?.();
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      await run();
      close();
      setText('');
    } catch (caught) {
      setError(caught);
    } finally {
      setBusy(false);
    }
  };
  const color = isDestructive ? 'red' : undefined;
  return (
    <>
      <Button variant="default" color={color} {...button} onClick={open}>
        {label}
      </Button>
      <Modal opened={isOpen} onClose={close} title={title}>
        <form onSubmit={(event) => void submit(event)}>
          <Stack gap="md">
            <div>{effect}</div>
            {typed !== undefined && (
              <TextInput
                label={`Type ${typed} to go on`}
                value={text}
                onChange={({ currentTarget }) => setText(currentTarget.value)}
                autoComplete="off"
                data-autofocus
              />
            )}
            {error !== undefined && <ProblemPanel error={error} />}
            <Group justify="flex-end">
              <Button variant="default" onClick={close}>
                Keep as it is
              </Button>
              <Button type="submit" color={color} loading={isBusy} disabled={typed !== undefined && text !== typed}>
                {act}
              </Button>
            </Group>
          </Stack>
        </form>
      </Modal>
    </>
  );
}
