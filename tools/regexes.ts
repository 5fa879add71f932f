// Checks every regular expression of the product in the sources: its time must be linear in the
// length of any input. Ends with 1 and names each one that is not linear. `scslre` judges
// them by static analysis, as in eslint-plugin-regexp, in half a second for all. Tests are left
// out, because their inputs are ours.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { analyse } from 'scslre';
import { parseSync } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Files with patterns that are known only at run time, with the reason why no attacker writes them.
 */
const writtenElsewhere: Readonly<Record<string, string>> = {
  'e2e/src/chromium.ts': 'a label of our own test pages, with every special character escaped',
  'rig/src/fuzz/values.ts': 'a pattern of our own description, which was a literal before',
};
/** The text that stands for an unknown part of a pattern. */
const unknownPart = 'x';

interface Found {
  readonly place: string;
  readonly pattern: string;
  readonly flags: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

function listSources(): string[] {
  const names = execFileSync('git', ['ls-files', '*.ts', '*.js', '*.mjs'], { cwd: root, encoding: 'utf8' });
  return names.split('\n').filter((name) => name !== '' && !/\.test\.ts$|(?:^|\/)test\//.test(name));
}

/** The regular expressions of a file, and the places of those that cannot be read. */
function readSource(file: string): { found: Found[]; unread: string[] } {
  const text = readFileSync(join(root, file), 'utf8');
  const nodes = [...walk(parseSync(file, text).program as unknown as Node)];
  const constants = new Map<string, Node>();
  for (const { type, id, init } of nodes) {
    const name = (id as Node | null)?.['name'];
    if (type === 'VariableDeclarator' && typeof name === 'string' && isNode(init)) constants.set(name, init);
  }
  const found: Found[] = [];
  const unread: string[] = [];
  for (const node of nodes) {
    const place = `${file}:${text.slice(0, node.start).split('\n').length}`;
    const regex = node['regex'] as { pattern: string; flags: string } | undefined;
    if (node.type === 'Literal' && regex) found.push({ place, ...regex });
    if (!isMadeRegex(node)) continue;
    const [given, flags] = node['arguments'] as Node[];
    const pattern = given && textOf(given, constants);
    if (pattern !== undefined) found.push({ place, pattern, flags: String(flags?.['value'] ?? '') });
    else if (!(file in writtenElsewhere)) unread.push(place);
  }
  return { found, unread };
}

function isMadeRegex({ type, callee }: Node): boolean {
  return (type === 'NewExpression' || type === 'CallExpression') && (callee as Node)['name'] === 'RegExp';
}

function* walk(node: Node): Generator<Node> {
  yield node;
  for (const value of Object.values(node)) {
    for (const each of Array.isArray(value) ? value : [value]) if (isNode(each)) yield* walk(each);
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';
}

/**
 * The text of an expression, as far as this file determines it; undefined when it is not even a
 * template.
 */
function textOf(node: Node, constants: ReadonlyMap<string, Node>): string | undefined {
  if (node.type === 'Literal' && typeof node['value'] === 'string') return node['value'];
  if (node.type === 'BinaryExpression' && node['operator'] === '+') {
    const sides = [node['left'], node['right']].map((side) => textOf(side as Node, constants) ?? unknownPart);
    return sides.join('');
  }
  if (node.type === 'Identifier') {
    const declared = constants.get(String(node['name']));
    return declared && textOf(declared, constants);
  }
  if (node.type !== 'TemplateLiteral') return undefined;
  const parts = node['expressions'] as Node[];
  return (node['quasis'] as Node[])
    .map((quasi, i) => {
      const { cooked } = quasi['value'] as { cooked: string };
      const part = parts[i];
      return cooked + (part ? (textOf(part, constants) ?? unknownPart) : '');
    })
    .join('');
}

/** Sentences about what is wrong; empty when the time is linear. */
function judge({ place, pattern, flags }: Found): string[] {
  const { reports } = analyse({ source: pattern, flags });
  return reports.map(({ exponential, character }) => {
    const growth = exponential ? 'exponentially' : 'with the square of a length or faster';
    return `${place}: /${pattern}/${flags} takes time that grows ${growth}, for instance on many of ${character.literal.source}`;
  });
}

const sources = listSources().map(readSource);
const all = sources.flatMap(({ found }) => found);
const complaints = [
  ...all.flatMap(judge),
  ...sources.flatMap(({ unread }) => unread.map((place) => `${place}: write the pattern where it can be read`)),
];
for (const complaint of complaints) process.stdout.write(`${complaint}\n`);
process.stdout.write(`${all.length} regular expressions\n`);
process.exitCode = complaints.length === 0 ? 0 : 1;
