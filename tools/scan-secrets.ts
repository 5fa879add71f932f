// Checks that no file tracked by Git holds a secret. `--list` prints findings as lines of the
// allow-list: test data belongs there, with its reason. Everybody with the history knows a
// committed secret, so replace it and do not only remove it.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findSecrets } from './secret-patterns.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Maps a fingerprint to the reason why it is no secret. */
const allowed = JSON.parse(readFileSync(join(root, 'tools/secrets-allowed.json'), 'utf8')) as Record<string, string>;

const tracked = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
})
  .split('\0')
  .filter((path) => path !== '');

const found = tracked.flatMap((path) =>
  findSecrets(textOf(path)).map((secret) => ({
    path,
    ...secret,
    isAllowed: Object.hasOwn(allowed, secret.fingerprint),
  })),
);

if (process.argv.includes('--list')) {
  for (const { fingerprint, kind, path } of found.filter((each) => !each.isAllowed)) {
    process.stdout.write(`  "${fingerprint}": "${kind} in ${path}",\n`);
  }
} else {
  const open = found.filter(({ isAllowed }) => !isAllowed);
  for (const { path, line, kind, fingerprint } of open) {
    process.stderr.write(`${path}:${line}: this looks like a ${kind} (${fingerprint})\n`);
  }
  const seen = new Set(found.map(({ fingerprint }) => fingerprint));
  const unused = Object.keys(allowed).filter((fingerprint) => !seen.has(fingerprint));
  for (const fingerprint of unused)
    process.stderr.write(`tools/secrets-allowed.json: ${fingerprint} is nowhere any more\n`);
  process.stdout.write(`${tracked.length} files looked at, ${found.length - open.length} known pieces of test data\n`);
  process.exitCode = open.length + unused.length > 0 ? 1 : 0;
}

/** Binary files and deleted files have no text. */
function textOf(path: string): string {
  try {
    const bytes = readFileSync(join(root, path));
    return bytes.subarray(0, 8_000).includes(0) ? '' : bytes.toString('utf8');
  } catch (error) {
    if (['ENOENT', 'EISDIR'].includes(String((error as { code?: string }).code))) return '';
    throw error;
  }
}
