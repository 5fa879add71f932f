// Compares node/src/types.gen.ts with docs/openapi.json and ends with 1 when they differ. With
// --write it writes the file.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openapiText } from '../server/src/process/api-routes.ts';
import { writeTypes } from './openapi-types.ts';

const path = fileURLToPath(new URL('../node/src/types.gen.ts', import.meta.url));
// The document is made from the schemas; another check compares openapi.json with them.
const text = writeTypes(JSON.parse(openapiText()));

if (process.argv.includes('--write')) {
  writeFileSync(path, text);
} else if (!existsSync(path) || readFileSync(path, 'utf8') !== text) {
  process.stderr.write(
    'node/src/types.gen.ts is not what the API says. Run: node --import tsx tools/api-types.ts --write\n',
  );
  process.exitCode = 1;
}
