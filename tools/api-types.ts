// Compares the types that are written from the APIs' descriptions with the descriptions: of /v1 for
// the server SDK, of the console's API for the console. Ends with 1 when one differs. With --write it
// writes the files.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { consoleOpenapiText, openapiText } from '../server/src/process/api-routes.ts';
import { writeTypes } from './openapi-types.ts';

// The documents are made from the schemas; another check compares the committed ones with them.
for (const [name, document] of [
  ['node/src/types.gen.ts', openapiText()],
  ['console/src/api/types.gen.ts', consoleOpenapiText()],
] as const) {
  const path = fileURLToPath(new URL(`../${name}`, import.meta.url));
  const text = writeTypes(JSON.parse(document));
  if (process.argv.includes('--write')) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  } else if (!existsSync(path) || readFileSync(path, 'utf8') !== text) {
    process.stderr.write(`${name} is not what the API says. Run: node --import tsx tools/api-types.ts --write\n`);
    process.exitCode = 1;
  }
}
