// A notice of what was done, with the way back for as long as it stands.
import { Button, Group } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { tellFailure } from './problem.tsx';

/** Long enough to read a sentence and to reach the button (a guess). */
const standsMs = 12_000;

/** Tells what was done. `undo` brings it back, and its failure is told. */
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
