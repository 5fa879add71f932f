#!/usr/bin/env node
// The program `carillon`: builds a checkout that is not built, then becomes the command line. The
// service runs in this very process, so that a signal reaches it and nothing in between.
import { existsSync } from 'node:fs';
import { describeOldNode } from './node-version.mjs';

const oldNode = describeOldNode(process.versions.node);
if (oldNode !== undefined) {
  process.stderr.write(`carillon: ${oldNode}\n`);
  process.exit(1);
}

const builder = new URL('../../tools/build.mjs', import.meta.url);

try {
  if (existsSync(builder)) {
    const { ensureBuilt } = await import(builder.href);
    await ensureBuilt({ log: (line) => process.stderr.write(`${line}\n`) });
  }
} catch (error) {
  process.stderr.write(`carillon: ${error instanceof Error ? error.message : error}\n`);
  process.exit(1);
}
await import('../dist/program/main.js');
