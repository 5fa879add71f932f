// Runs the recipes of the page on proofs of identity, in every language that this machine has. Hashes
// must equal the published vectors, and tokens must pass the service's own check. A recipe runs
// exactly as printed, followed only by the questions. Recipes of tokens need their library: PHP finds
// it in `$JWT_PHP/vendor/autoload.php`, and Go in `$JWT_GO`, a checkout.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { isProven } from '../../src/people/users/identify-proof.ts';
import { hashSecret, hashVectors, tokenSecret, tokenVectors } from '../fixtures/identify-vectors.ts';
import { readBlocks } from './fenced-blocks.ts';

const page = readFileSync(new URL('../../../docs/identify.md', import.meta.url), 'utf8');
const blocks = readBlocks('identify.md');
const server = fileURLToPath(new URL('../..', import.meta.url));
const device = 'dev_4r4tgBwaHmRyQNukgzmqsi';

type Form = 'token' | 'hash';

interface Language {
  readonly info: string;
  /** Commands that run a program from standard input; the first that has what is needed is taken. */
  readonly commands: readonly (readonly string[])[];
  /** The arguments with which a command shows that it is here, and has the library of tokens. */
  readonly probe: Readonly<Record<Form, readonly string[]>>;
  /** Text to put before the recipe. */
  readonly opening?: string;
  /** Code that prints one proof per line for external ids. The arguments are the secret and the ids. */
  readonly questions: Readonly<Record<Form, string>>;
}

const { JWT_PHP = '/nowhere', JWT_GO = '/nowhere' } = process.env;

const languages: readonly Language[] = [
  {
    info: 'js',
    commands: [[process.execPath, '--input-type=module']],
    probe: { hash: ['-e', ''], token: ['-e', 'import "jose"'] },
    questions: {
      hash: `
const [secret, ...ids] = process.argv.slice(2);
for (const id of ids) console.log(userHash(secret, id));`,
      token: `
const [secret, ...ids] = process.argv.slice(2);
for (const id of ids) console.log(await userToken(secret, id) + '\\n' + await userToken(secret, id, '${device}'));`,
    },
  },
  {
    info: 'python',
    // The system's Python may have the library when the first Python in PATH has not.
    commands: [['python3'], ['/usr/bin/python3']],
    probe: { hash: ['-c', ''], token: ['-c', 'import jwt'] },
    questions: {
      hash: `
import sys
secret, *ids = sys.argv[1:]
for each in ids: print(user_hash(secret, each))`,
      token: `
import sys
secret, *ids = sys.argv[1:]
for each in ids: print(user_token(secret, each) + '\\n' + user_token(secret, each, '${device}'))`,
    },
  },
  {
    info: 'php',
    commands: [['php']],
    probe: { hash: ['-r', ''], token: ['-r', `exit(file_exists('${JWT_PHP}/vendor/autoload.php') ? 0 : 1);`] },
    opening: `<?php\n@include '${JWT_PHP}/vendor/autoload.php';\n`,
    questions: {
      hash: `
$ids = array_slice($argv, 2);
foreach ($ids as $id) echo user_hash($argv[1], $id), "\\n";`,
      token: `
$ids = array_slice($argv, 2);
foreach ($ids as $id) echo user_token($argv[1], $id), "\\n", user_token($argv[1], $id, '${device}'), "\\n";`,
    },
  },
  {
    info: 'ruby',
    commands: [['ruby']],
    probe: { hash: ['-e', ''], token: ['-e', 'require "jwt"'] },
    questions: {
      hash: `
secret, *ids = ARGV
ids.each { |id| puts user_hash(secret, id) }`,
      token: `
secret, *ids = ARGV
ids.each { |id| puts user_token(secret, id), user_token(secret, id, '${device}') }`,
    },
  },
];

/** The block that defines the function of a form, whatever the language spells it like. */
function recipeIn(info: string, form: Form): string {
  const name = form === 'token' ? /user_?token\(/i : /user_?hash\(/i;
  const found = blocks.find(
    (block) => block.info === info && /^(export )?(def|func|function)/m.test(block.text) && name.test(block.text),
  );
  return found?.text ?? '';
}

const isHere = (command: readonly string[], probe: readonly string[]): boolean =>
  spawnSync(command[0] ?? '', [...command.slice(1), ...probe], { stdio: 'ignore', cwd: server }).status === 0;

/** Every language with a form of which this machine has all that is needed. */
const installed = languages.flatMap(({ commands, ...language }) =>
  (['hash', 'token'] as const).flatMap((form) => {
    const command = commands.find((each) => isHere(each, language.probe[form]));
    return command ? [{ ...language, form, command }] : [];
  }),
);

function expectHashes(printed: string): void {
  expect(printed.trim().split('\n')).toEqual(hashVectors.map(([, , userHash]) => userHash));
}

/** Two tokens for each external id: for any device, and for one. */
function expectTokens(printed: string): void {
  const tokens = printed.trim().split('\n');
  expect(tokens).toHaveLength(2 * hashVectors.length);
  for (const [i, userToken] of tokens.entries()) {
    const externalId = hashVectors[Math.floor(i / 2)]?.[1] ?? '';
    const claim = { appId: 'app_1', deviceId: device, externalId, userToken, userHash: null };
    const secrets = [{ form: 'token', secret: tokenSecret }] as const;
    const isGood = (isDeviceRequired: boolean, change: object = {}, ms = 0): boolean =>
      isProven({ ...claim, ...change }, { secrets, isDeviceRequired }, Date.now() + ms);
    expect(isGood(false)).toBe(true);
    expect(isGood(true)).toBe(i % 2 === 1);
    expect(isGood(false, { deviceId: 'dev_other' })).toBe(i % 2 === 0);
    expect(isGood(false, { externalId: `${externalId}x` })).toBe(false);
    expect(isGood(false, {}, 4_200_000)).toBe(false);
  }
}

test('the page has both recipes in each language, and every published vector', () => {
  for (const info of [...languages.map((language) => language.info), 'go']) {
    for (const form of ['token', 'hash'] as const) expect(recipeIn(info, form), `${form} in ${info}`).not.toBe('');
  }
  for (const text of [hashSecret, tokenSecret]) expect(page).toContain(text);
  for (const [, , proof] of [...hashVectors, ...tokenVectors]) expect(page).toContain(`\`${proof}\``);
});

test('the recipes of Node.js run wherever the tests do', () => {
  expect(installed.filter(({ info }) => info === 'js').map(({ form }) => form)).toEqual(['hash', 'token']);
});

test.each(installed)('the recipe in $info makes a good $form', ({ info, form, command, opening = '', questions }) => {
  const [program = '', ...parameters] = command;
  const ids = hashVectors.map(([, externalId]) => externalId);
  const secret = form === 'token' ? tokenSecret : hashSecret;
  const printed = execFileSync(
    program,
    [...parameters, info === 'php' ? '--' : '-', secret, ...ids],
    // Arguments and output are UTF-8, whatever the machine's locale.
    {
      input: opening + recipeIn(info, form) + questions[form],
      env: { ...process.env, LC_ALL: 'C.UTF-8' },
      encoding: 'utf8',
      cwd: server,
    },
  );
  if (form === 'token') expectTokens(printed);
  else expectHashes(printed);
});

/** Go runs folders, and takes no program from standard input. */
const [go] = ['go'];
const goForms = (['hash', 'token'] as const).filter(
  (form) => isHere([go], ['version']) && (form === 'hash' || isHere(['test'], ['-f', `${JWT_GO}/go.mod`])),
);

test.each(goForms)('the recipe in Go makes a good %s', (form) => {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-go-'));
  const each =
    form === 'hash'
      ? 'fmt.Println(UserHash(os.Args[1], id))'
      : `for _, device := range []string{"", "${device}"} {
			token, err := UserToken(os.Args[1], id, device)
			if err != nil {
				panic(err)
			}
			fmt.Println(token)
		}`;
  const library = 'github.com/golang-jwt/jwt/v5';
  const needs = `require ${library} v5.0.0\nreplace ${library} => ${JWT_GO}\n`;
  writeFileSync(join(folder, 'go.mod'), `module recipe\n\ngo 1.18\n\n${form === 'token' ? needs : ''}`);
  writeFileSync(join(folder, 'recipe.go'), `package main\n\n${recipeIn('go', form)}`);
  writeFileSync(
    join(folder, 'main.go'),
    `package main\n\nimport (\n\t"fmt"\n\t"os"\n)\n\nfunc main() {\n\tfor _, id := range os.Args[2:] {\n\t\t${each}\n\t}\n}\n`,
  );
  const ids = hashVectors.map(([, externalId]) => externalId);
  const secret = form === 'token' ? tokenSecret : hashSecret;
  const printed = execFileSync(go, ['run', '.', secret, ...ids], { cwd: folder, encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  if (form === 'token') expectTokens(printed);
  else expectHashes(printed);
});
