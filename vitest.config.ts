import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// One process a test file, two at a time: a file has its own database, and the machine may have two
// cores.
export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'server',
          root: 'server',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          globalSetup: ['./test/global-setup.ts'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      { test: { name: 'sandbox', root: 'sandbox', include: ['{src,test}/**/*.test.ts'], testTimeout: 30_000 } },
      { test: { name: 'rig', root: 'rig', include: ['src/**/*.test.ts'] } },
      { test: { name: 'proof', root: 'proof', include: ['src/**/*.test.ts'] } },
      {
        // The examples name the package as its users do; here that is its source.
        resolve: { alias: { '@carillon/node': fileURLToPath(new URL('node/src/index.ts', import.meta.url)) } },
        test: { name: 'node', root: 'node', include: ['{src,test}/**/*.test.ts'], testTimeout: 30_000 },
      },
      { test: { name: 'console', root: 'console', include: ['src/**/*.test.ts'] } },
      { test: { name: 'web', root: 'web', include: ['{src,test}/**/*.test.ts'], testTimeout: 30_000 } },
    ],
  },
});
