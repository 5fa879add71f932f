// Holds a process at a place on purpose until the test releases it. The limits of the database are
// too long to end the hold, so only the code under test can.
import { setTimeout as sleep } from 'node:timers/promises';
import { createGate } from '../../../packages/postgres/test/gate.ts';
import { armFailpoints, type Failpoint } from '../../src/ground/host/failpoint.ts';
import { type Bundle, setup } from '../setup.ts';

/** Longer than any wait of a test. */
export const never = 600_000;

export const setUpHeld = (): Promise<Bundle> =>
  setup({
    workers: false,
    environment: { SEND_WAIT_MS: '0' },
    databaseLimits: { silenceMs: never, shortMs: never },
  });

export async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(20);
}

/** Holds callers at this failpoint until they are released; only the first `countMax`. */
export function holdAt(
  name: Failpoint,
  countMax = Number.POSITIVE_INFINITY,
): { readonly held: Promise<void>; letGo(): void } {
  const [somebody, way] = [createGate(), createGate()];
  let passed = 0;
  armFailpoints((each) => {
    if (each !== name || ++passed > countMax) return undefined;
    somebody.open();
    return way.opened;
  });
  return { held: somebody.opened, letGo: way.open };
}
