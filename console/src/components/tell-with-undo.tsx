// A notice of a finished act, with an undo button while it is shown.
import { Button, Group } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { tellFailure } from './problem.tsx';

/** Long enough to read a sentence and to reach the button (a guess). */
const standsMs = 12_000;

/** Shows what was done. `undo` reverts it, and its failure is shown. */
export function tellWithUndo(said: string, undo: () => unknown): void {
  const takeBack = async () => {
    notifications.hide(id);
    try {
      await undo();
    } catch (error) {
      notifications.show({ color: 'red', message: tellFailure(error) });
    }
  };
  const id = notifications.show({
    autoClose: standsMs,
    message: (
      <Group justify="space-between" wrap="nowrap">
        <span>{said}</span>
        <Button variant="subtle" size="compact-sm" onClick={() => void takeBack()}>
          Undo
        </Button>
      </Group>
    ),
  });
}
