// Builds what browsers load: the SDK as a module and as a plain script, and the service worker as
// one classic file. The build fails when a file exceeds its budget, because every page of every
// site with Carillon loads these bytes.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';

const root = fileURLToPath(new URL('.', import.meta.url));

/** Budgets are gzip bytes. */
const outputs = [
  { file: 'carillon.js', entry: 'src/index.ts', format: 'es', bytesMax: 6_400 },
  { file: 'carillon.global.js', entry: 'src/index.ts', format: 'iife', bytesMax: 6_400 },
  { file: 'carillon-sw.js', entry: 'src/service-worker.ts', format: 'iife', bytesMax: 4_608 },
];

for (const { file, entry, format } of outputs) {
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    build: {
      // The oldest browsers that have push, Web Locks and AbortSignal.timeout: Chrome 103, Firefox
      // 100, Safari 16.
      target: ['chrome103', 'firefox100', 'safari16'],
      // The directory also holds the other outputs and the compiler's declarations.
      emptyOutDir: false,
      minify: true,
      lib: { entry, formats: [format], name: 'Carillon', fileName: () => file },
      // Vite does not minify an ES library, for the sake of bundlers. This library is also loaded
      // directly.
      rolldownOptions: { output: { minify: true } },
    },
  });
}

let isOverBudget = false;
for (const { file, bytesMax } of outputs) {
  const bytes = await readFile(new URL(`dist/${file}`, import.meta.url));
  const gzipBytes = gzipSync(bytes, { level: 9 }).length;
  console.log(`web/dist/${file}: ${bytes.length} bytes, ${gzipBytes} gzip (budget ${bytesMax})`);
  if (gzipBytes > bytesMax) isOverBudget = true;
}
if (isOverBudget) {
  console.error('web: over its size budget.');
  process.exitCode = 1;
}
