// Builds the console, and a compressed form beside each file, so that the service compresses
// nothing while it serves. The build fails when the first page needs more script than its budget.
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'vite';

const root = fileURLToPath(new URL('.', import.meta.url));
const built = join(root, 'dist');
/** Compressed script of the page that loads first. */
const scriptBytesMax = 300_000;
const compressible = new Set(['.js', '.css', '.html', '.svg']);

// A test that builds has another environment, in which React is made for development.
process.env['NODE_ENV'] = 'production';
await build({ root, configFile: join(root, 'vite.config.ts'), logLevel: 'warn' });

// The worker with which a person's own browser shows a test.
copyFileSync(join(root, '../web/dist/carillon-sw.js'), join(built, 'carillon-sw.js'));

const gzipBytes = new Map();
for (const name of readdirSync(built, { recursive: true, encoding: 'utf8' })) {
  if (!compressible.has(extname(name))) continue;
  const bytes = readFileSync(join(built, name));
  const gzip = gzipSync(bytes, { level: 9 });
  gzipBytes.set(name.replaceAll('\\', '/'), gzip.length);
  writeFileSync(join(built, `${name}.gz`), gzip);
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  writeFileSync(join(built, `${name}.br`), brotliCompressSync(bytes, { params }));
}

const sizes = ['overview', 'sign-in'].map((page) => [page, scriptBytesOf(page)]);
for (const [page, bytes] of sizes)
  console.log(`console: ${page} loads ${bytes} bytes of script, gzip (budget ${scriptBytesMax})`);
if (sizes.some(([, bytes]) => bytes > scriptBytesMax)) {
  console.error('console: over its size budget.');
  process.exitCode = 1;
}

/** The entry of index.html and a page, with all that they import. */
function scriptBytesOf(page) {
  const html = readFileSync(join(built, 'index.html'), 'utf8');
  const entries = [...html.matchAll(/\/console\/(assets\/[^"]+\.js)"/g)].map(([, name]) => name);
  const pageFile = [...gzipBytes.keys()].find((name) => name.startsWith(`assets/${page}-`) && name.endsWith('.js'));
  const needed = new Set();
  const visit = (name) => {
    if (name === undefined || needed.has(name)) return;
    needed.add(name);
    const text = readFileSync(join(built, name), 'utf8');
    for (const [, imported] of text.matchAll(/(?:from|import)\s*["']\.\/([^"']+\.js)["']/g))
      visit(`assets/${imported}`);
  };
  for (const name of [...entries, pageFile]) visit(name);
  return [...needed].reduce((sum, name) => sum + (gzipBytes.get(name) ?? 0), 0);
}
