import { whenDone } from '../../../rig/src/when-done.ts';

export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

/** A gate that is closed until it is opened, or until the end of the test. */
export function createGate(): Gate {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  whenDone(async () => open());
  return { opened, open };
}
