// Until the test ends the environment tells Node to take every certificate, as some do who run into an error: ours are verified
// all the same.
import { onTestFinished } from 'vitest';

const name = 'NODE_TLS_REJECT_UNAUTHORIZED';

export function takeEveryCertificate(): void {
  const before = process.env[name];
  process.env[name] = '0';
  onTestFinished(() => {
    if (before === undefined) delete process.env[name];
    else process.env[name] = before;
  });
}
