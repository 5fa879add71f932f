// Until the test ends, the environment tells Node to accept every certificate, as some people set
// it after an error. The service must still verify.
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
