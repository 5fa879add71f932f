// `node tools/failed-files.mjs REPORT` prints the paths of the test files that failed, one a line,
// from the report that `vitest run --reporter=json --outputFile.json=REPORT` wrote. It prints
// nothing where there is no report.
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('usage: node tools/failed-files.mjs REPORT');
if (existsSync(file)) {
  for (const { name, status } of JSON.parse(readFileSync(file, 'utf8')).testResults) {
    if (status === 'failed') console.log(relative('.', name));
  }
}
