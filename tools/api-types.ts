// Compares the files that are written from the server with the server: the types of /v1 for the
// server SDK, and for the console the types of its API and the words of each code of a delivery.
// Ends with 1 when one differs. With --write it writes the files.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { codeMeanings } from '../server/src/delivery/code-meaning.ts';
import { consoleOpenapiText, openapiText } from '../server/src/process/api-routes.ts';
import { writeTypes } from './openapi-types.ts';

const codes = `// Written by tools/api-types.ts from the service's table of codes. Do not edit.
export const codeMeanings = ${JSON.stringify(codeMeanings, null, 2)};
`;

// The documents are made from the schemas; another check compares the committed ones with them.
for (const [name, text] of [
  ['node/src/types.gen.ts', writeTypes(JSON.parse(openapiText()))],
  ['console/src/api/types.gen.ts', writeTypes(JSON.parse(consoleOpenapiText()))],
  ['console/src/failure-codes.gen.ts', codes],
] as const) {
  const path = fileURLToPath(new URL(`../${name}`, import.meta.url));
  if (process.argv.includes('--write')) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  } else if (!existsSync(path) || readFileSync(path, 'utf8') !== text) {
    process.stderr.write(`${name} is not what the server says. Run: node --import tsx tools/api-types.ts --write\n`);
    process.exitCode = 1;
  }
}
