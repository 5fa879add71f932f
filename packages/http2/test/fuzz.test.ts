import { expect, test } from 'vitest';
import { fuzzHttp2 } from '../../../rig/src/http2-fuzzer.ts';
import { ownEngine } from '../src/own-session.ts';

test('R-38b 2,000 peers that break the protocol: each connection ends with a reason, and every request has a result', async () => {
  const report = await fuzzHttp2(ownEngine, { connections: 2_000, seed: 1 });
  expect(report.complaints).toEqual([]);
  expect(report.frames).toBeGreaterThan(2_000);
});
