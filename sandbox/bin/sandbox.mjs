#!/usr/bin/env node
// Starts the built sandbox, or says that it has not been built.
const built = new URL('../dist/main.js', import.meta.url);
let main;
try {
  ({ main } = await import(built.href));
} catch (error) {
  if (error?.code !== 'ERR_MODULE_NOT_FOUND' || error.url !== built.href) throw error;
  process.stderr.write('carillon-sandbox: not built yet; run `npm run build` first\n');
  process.exit(1);
}
process.exitCode = await main(process.argv.slice(2));
