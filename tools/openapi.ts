// Compares docs/openapi.json with the server's schemas and ends with 1 when they differ. With
// --write it writes the file.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openapiText } from '../server/src/process/api-routes.ts';

const path = fileURLToPath(new URL('../docs/openapi.json', import.meta.url));
const text = openapiText();

if (process.argv.includes('--write')) {
  writeFileSync(path, text);
} else if (!existsSync(path) || readFileSync(path, 'utf8') !== text) {
  process.stderr.write(
    'docs/openapi.json is not what the schemas say. Run: node --import tsx tools/openapi.ts --write\n',
  );
  process.exitCode = 1;
}
