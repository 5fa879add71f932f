// Writes the files that come from the server: the types of /v1 for the server SDK, and for the console
// those of its API and the words of each code of a delivery. The build runs it before the compiler.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { consoleOpenapiText, openapiText } from '../server/src/operation/process/api-routes.ts';
import { codeMeanings } from '../server/src/sending/delivery/code-meaning.ts';
import { answersJson, writeTypes } from './openapi-types.ts';

const codes = `// Written by tools/api-types.ts from the service's table of codes. Do not edit.
export const codeMeanings = ${JSON.stringify(codeMeanings, null, 2)};
`;

for (const [name, text] of [
  [
    'node/src/types.gen.ts',
    writeTypes(JSON.parse(openapiText()), (path, endpoint) => path.startsWith('/v1/') && answersJson(endpoint)),
  ],
  ['console/src/api/types.gen.ts', writeTypes(JSON.parse(consoleOpenapiText()))],
  ['console/src/failure-codes.gen.ts', codes],
] as const) {
  const path = fileURLToPath(new URL(`../${name}`, import.meta.url));
  // An equal file keeps its time, so that nothing is built from it again.
  if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text);
}
