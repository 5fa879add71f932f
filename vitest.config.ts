import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/**
 * The settings of every project. Waits are long, because other programs may use the machine. A test
 * with a deadline of its own would count on the machine's pace.
 */
const common = {
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 120_000, interval: 20 } },
  // Test files of a project share modules and no data.
  isolate: false,
};
const writesTypes = { globalSetup: [fileURLToPath(new URL('tools/types-for-tests.mjs', import.meta.url))] };

/** Test files take turns in a process for each core, and wait more than they compute. */
const maxWorkers = Math.max(2, Math.ceil(availableParallelism() * 1.5));

export default defineConfig({
  test: {
    maxWorkers,
    projects: [
      { test: { name: 'http2', root: 'packages/http2', include: ['{src,test}/**/*.test.ts'], ...common } },
      {
        test: {
          name: 'postgres',
          root: 'packages/postgres',
          include: ['{src,test}/**/*.test.ts'],
          globalSetup: ['./test/global-setup.ts'],
          ...common,
        },
      },
      {
        test: {
          name: 'server',
          root: 'server',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          globalSetup: ['./test/global-setup.ts'],
          ...common,
        },
      },
      { test: { name: 'sandbox', root: 'sandbox', include: ['{src,test}/**/*.test.ts'], ...common } },
      { test: { name: 'rig', root: 'rig', include: ['src/**/*.test.ts'], ...common } },
      { test: { name: 'proof', root: 'proof', include: ['src/**/*.test.ts'], ...common } },
      {
        // The examples name the package as its users do; here that is its source.
        resolve: { alias: { '@carillon/node': fileURLToPath(new URL('node/src/index.ts', import.meta.url)) } },
        test: { name: 'node', root: 'node', include: ['{src,test}/**/*.test.ts'], ...writesTypes, ...common },
      },
      { test: { name: 'console', root: 'console', include: ['src/**/*.test.ts'], ...writesTypes, ...common } },
      { test: { name: 'web', root: 'web', include: ['{src,test}/**/*.test.ts'], ...common } },
    ],
  },
});
