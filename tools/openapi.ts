// Compares docs/openapi.json and docs/console-openapi.json with the server's schemas and ends with
// 1 when one differs. With --write it writes the files.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { consoleOpenapiText, openapiText } from '../server/src/operation/process/api-routes.ts';

for (const [name, text] of [
  ['docs/openapi.json', openapiText()],
  ['docs/console-openapi.json', consoleOpenapiText()],
] as const) {
  const path = fileURLToPath(new URL(`../${name}`, import.meta.url));
  if (process.argv.includes('--write')) {
    writeFileSync(path, text);
  } else if (!existsSync(path) || readFileSync(path, 'utf8') !== text) {
    process.stderr.write(`${name} is not what the schemas say. Run: node --import tsx tools/openapi.ts --write\n`);
    process.exitCode = 1;
  }
}
