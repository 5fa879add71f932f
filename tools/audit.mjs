// Checks the run-time packages for known advisories; none may be high or critical. When the
// registry gives no answer, it prints that and ends with 0, because an unreachable list is no fault
// of a change. With --required, as before a release, it ends with 1.
import { spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const levels = ['high', 'critical'];

/**
 * From the output of `npm audit --json`: the names of packages with a high or critical advisory.
 * Undefined: the registry gave no list.
 */
export function readAdvisories(output) {
  let report;
  try {
    report = JSON.parse(output);
  } catch {
    return undefined;
  }
  if (report?.error !== undefined || typeof report?.metadata?.vulnerabilities !== 'object') return undefined;
  return Object.values(report.vulnerabilities ?? {})
    .filter(({ severity }) => levels.includes(severity))
    .map(({ name, severity, range }) => `${name} ${range} (${severity})`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json'], {
    cwd: root,
    encoding: 'utf8',
    timeout: 120_000,
  });
  const found = readAdvisories(stdout ?? '');
  const isRequired = process.argv.includes('--required');
  if (found === undefined) {
    process.stdout.write('npm audit: the registry gave no list of advisories. They are UNKNOWN, not absent.\n');
    process.exitCode = isRequired ? 1 : 0;
  } else if (found.length > 0) {
    process.stdout.write(`npm audit: ${found.join(', ')}. See: npm audit --omit=dev\n`);
    process.exitCode = 1;
  } else process.stdout.write('npm audit: no high or critical advisory\n');
}
