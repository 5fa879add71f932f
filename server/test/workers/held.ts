// A process that stands still on purpose: what comes to a place waits there until the test lets it go. No limit of the database's ends
// what is held: only what is under test does.
import { armFailpoints, type Failpoint } from '../../src/platform/failpoint.ts';
import { whenDone } from '../database.ts';
import { type Bundle, setup } from '../setup.ts';

/** Longer than anything is waited for. */
export const never = 600_000;

export const setUpHeld = (): Promise<Bundle> =>
  setup({
    workers: false,
    environment: { SEND_WAIT_MS: '0' },
    databaseLimits: { silenceMs: never, shortMs: never },
  });

export async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20));
}

export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

/** A gate that is shut, until the end of the test at the latest. */
export function createGate(): Gate {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  whenDone(async () => open());
  return { opened, open };
}

/** Whoever comes to this place waits there until it is let go; only the first so many do. */
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
