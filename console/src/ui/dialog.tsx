// A button that opens a window, such as one with a form.
import { Button, type ButtonProps, Modal } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconPlus } from '@tabler/icons-react';
import type { ReactNode } from 'react';

interface DialogProps extends Omit<ButtonProps, 'children'> {
  readonly label: string;
  readonly title: string;
  readonly width?: 'md' | 'lg';
  readonly children: (close: () => void) => ReactNode;
  /** False: no button. An open window stays, so that typed text does not vanish without a reason. */
  readonly isOffered?: boolean;
}

export function Dialog({ label, title, width = 'md', children, isOffered = true, ...button }: DialogProps) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      {isOffered && (
        <Button variant="default" {...button} onClick={open}>
          {label}
        </Button>
      )}
      <Modal opened={isOpen} onClose={close} title={title} size={width}>
        {children(close)}
      </Modal>
    </>
  );
}

/** The main button of a page, which makes a new object. */
export const NewDialog = (props: DialogProps) => (
  <Dialog variant="filled" leftSection={<IconPlus size={16} aria-hidden />} {...props} />
);
