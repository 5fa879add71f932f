import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/**
 * Everything that a test waits for has this long, because other programs may have the machine. A
 * test with a deadline of its own would count on the machine's pace.
 */
const waits = {
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 120_000, interval: 20 } },
};

/**
 * Test files take turns in a process for each core, and wait more than they compute. Files share
 * modules and no data: each has its own database.
 */
const maxWorkers = Math.max(2, Math.ceil(availableParallelism() * 1.5));

export default defineConfig({
  test: {
    maxWorkers,
    projects: [
      {
        test: {
          name: 'server',
          root: 'server',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          globalSetup: ['./test/global-setup.ts'],
          ...waits,
          isolate: false,
        },
      },
      { test: { name: 'sandbox', root: 'sandbox', include: ['{src,test}/**/*.test.ts'], ...waits } },
      { test: { name: 'rig', root: 'rig', include: ['src/**/*.test.ts'], ...waits } },
      { test: { name: 'proof', root: 'proof', include: ['src/**/*.test.ts'], ...waits } },
      {
        // The examples name the package as its users do; here that is its source.
        resolve: { alias: { '@carillon/node': fileURLToPath(new URL('node/src/index.ts', import.meta.url)) } },
        test: { name: 'node', root: 'node', include: ['{src,test}/**/*.test.ts'], ...waits },
      },
      { test: { name: 'console', root: 'console', include: ['src/**/*.test.ts'], ...waits } },
      { test: { name: 'web', root: 'web', include: ['{src,test}/**/*.test.ts'], ...waits } },
    ],
  },
});
