// Tests the verifiers printed in docs/webhooks.md against the vectors: JavaScript always, other
// languages where they are installed. Each runs as printed, followed by a few lines that read the
// cases and print its answers.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { vectors } from './vectors.ts';

interface Language {
  readonly name: string;
  readonly file: string;
  readonly command: readonly string[];
  /** The command that succeeds when the language is installed. */
  readonly probe: readonly string[];
  readonly run: (printed: string) => string;
}

const languages: readonly Language[] = [
  {
    name: 'js',
    file: 'verify.mjs',
    command: [process.execPath],
    probe: [process.execPath, '--version'],
    run: (printed) => `${printed}
import { readFileSync } from 'node:fs';
const cases = JSON.parse(readFileSync(0, 'utf8'));
console.log(JSON.stringify(cases.map((c) => verify(Buffer.from(c.body), c.signature, c.secret, c.tolerance, c.now))));`,
  },
  {
    name: 'python',
    file: 'verify.py',
    command: ['python3'],
    probe: ['python3', '--version'],
    run: (printed) => `${printed}
import json, sys
cases = json.load(sys.stdin)
print(json.dumps([verify(c["body"].encode(), c["signature"], c["secret"], c["tolerance"], c["now"]) for c in cases]))`,
  },
  {
    name: 'php',
    file: 'verify.php',
    command: ['php'],
    probe: ['php', '--version'],
    run: (printed) => `${printed}
$cases = json_decode(stream_get_contents(STDIN), true);
$answer = fn($c) => verify($c['body'], $c['signature'], $c['secret'], $c['tolerance'], $c['now']);
echo json_encode(array_map($answer, $cases));`,
  },
  {
    name: 'ruby',
    file: 'verify.rb',
    command: ['ruby'],
    probe: ['ruby', '--version'],
    run: (printed) => `${printed}
require "json"
cases = JSON.parse(STDIN.read)
puts JSON.generate(cases.map { |c|
  verify(c["body"], c["signature"], c["secret"], tolerance: c["tolerance"], now: c["now"])
})`,
  },
  {
    name: 'go',
    file: 'verify.go',
    command: ['go', 'run'],
    probe: ['go', 'version'],
    run: (printed) => `${printed
      .replace('package webhooks', 'package main')
      .replace('import (', 'import (\n\t"encoding/json"\n\t"os"')}
type testCase struct {
	Body, Signature, Secret string
	Tolerance, Now          int64
}

func main() {
	var cases []testCase
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		panic(err)
	}
	answers := []bool{}
	for _, c := range cases {
		tolerance := time.Duration(c.Tolerance) * time.Second
		answers = append(answers, Verify([]byte(c.Body), c.Signature, c.Secret, tolerance, time.Unix(c.Now, 0)))
	}
	json.NewEncoder(os.Stdout).Encode(answers)
}`,
  },
];

const page = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8');
const printed = new Map([...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, name, text]) => [name, text ?? '']));
const isHere = ({ probe: [program = '', ...rest] }: Language): boolean => spawnSync(program, rest).status === 0;

const { tolerance_seconds: tolerance, valid, invalid } = vectors.webhook;
const cases = [
  ...valid.flatMap(({ body, signature, secrets, t }) => secrets.map((secret) => ({ body, signature, secret, now: t }))),
  ...valid.map(({ body, signature, secrets, t }) => ({ body, signature, secret: secrets[0], now: t + tolerance })),
  ...invalid,
].map(({ body, signature, secret, now }) => ({ body, signature, secret, now, tolerance }));
const expected = cases.map((_each, i) => i < cases.length - invalid.length);

const folder = mkdtempSync(join(tmpdir(), 'carillon-verify-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('the page prints a verifier in each language', () => {
  expect(languages.filter(({ name }) => !/hmac/i.test(printed.get(name) ?? ''))).toEqual([]);
});

it.each(languages.filter(isHere))(
  'R-20 the verifier printed in $name accepts and refuses as the vectors say',
  (language) => {
    const { name, file, command, run } = language;
    const path = join(folder, file);
    writeFileSync(path, run(printed.get(name) ?? ''));
    const [program = '', ...rest] = command;
    const { stdout, stderr } = spawnSync(program, [...rest, path], { input: JSON.stringify(cases), encoding: 'utf8' });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual(expected);
  },
);
