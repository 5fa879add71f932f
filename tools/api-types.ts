// Holds node/src/types.gen.ts to what docs/openapi.json says: ends with 1 when they differ. With --write it writes the file.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openapiText } from '../server/src/http.ts';
import { writeTypes } from './openapi-types.ts';

const path = fileURLToPath(new URL('../node/src/types.gen.ts', import.meta.url));
// The document as the schemas say it: openapi.json is held to them on its own.
const text = writeTypes(JSON.parse(openapiText()));

if (process.argv.includes('--write')) {
  writeFileSync(path, text);
} else if (!existsSync(path) || readFileSync(path, 'utf8') !== text) {
  process.stderr.write(
    'node/src/types.gen.ts is not what the API says. Run: node --import tsx tools/api-types.ts --write\n',
  );
  process.exitCode = 1;
}
