import { describe, expect, it } from 'vitest';
import { createOutcomeBacklog } from './outcome-backlog.ts';

describe('R-97 outcomes that wait to be written', () => {
  it('stop pushes at the bound, and let them go on when there is room again', async () => {
    const backlog = createOutcomeBacklog(3);
    backlog.add(2);
    expect(backlog.untilRoom()).toBeUndefined();
    backlog.add(2);
    const room = backlog.untilRoom();
    let hasRoom = false;
    void room?.then(() => {
      hasRoom = true;
    });
    backlog.remove(1);
    await Promise.resolve();
    expect(hasRoom).toBe(false);
    backlog.remove(1);
    await room;
    expect(backlog.untilRoom()).toBeUndefined();
  });
});
