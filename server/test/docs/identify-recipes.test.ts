// The page on the identify hash: its recipes are run, in every language whose interpreter this machine has, and must give the
// published vectors. A recipe is run as it stands on the page, with only the questions behind it.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  boundVectors,
  simpleVectors,
  vectorDevice,
  vectorSeconds,
  vectorSecret,
} from '../fixtures/identify-vectors.ts';
import { readBlocks } from './fenced-blocks.ts';

const page = readFileSync(new URL('../../../docs/identify.md', import.meta.url), 'utf8');
const blocks = readBlocks('identify.md');

interface Language {
  readonly info: string;
  /** Runs a program that is given on standard input. */
  readonly command: readonly string[];
  /** Before the recipe. */
  readonly opening?: string;
  /** Asks for one hash of each external id and prints them, a line each; the ids come as arguments, secret and device first. */
  readonly questions: string;
}

const languages: readonly Language[] = [
  {
    info: 'js',
    command: [process.execPath, '--input-type=module', '-'],
    questions: `
const [secret, device, t, ...ids] = process.argv.slice(2);
for (const id of ids) console.log(userHash(secret, id) + ' ' + boundUserHash(secret, device, id, Number(t)));
console.log(boundUserHash(secret, device, ids[0]));`,
  },
  {
    info: 'python',
    command: ['python3', '-'],
    questions: `
import sys
secret, device, t, *ids = sys.argv[1:]
for each in ids: print(user_hash(secret, each) + ' ' + bound_user_hash(secret, device, each, int(t)))
print(bound_user_hash(secret, device, ids[0]))`,
  },
  {
    info: 'php',
    command: ['php', '--'],
    opening: '<?php\n',
    questions: `
[$secret, $device, $t] = array_slice($argv, 1, 3);
$ids = array_slice($argv, 4);
foreach ($ids as $id) echo user_hash($secret, $id), ' ', bound_user_hash($secret, $device, $id, (int) $t), "\\n";
echo bound_user_hash($secret, $device, $ids[0]), "\\n";`,
  },
  {
    info: 'ruby',
    command: ['ruby', '-'],
    questions: `
secret, device, t, *ids = ARGV
ids.each { |id| puts "#{user_hash(secret, id)} #{bound_user_hash(secret, device, id, t.to_i)}" }
puts bound_user_hash(secret, device, ids[0])`,
  },
];

function isHere([program = '', ..._arguments]: readonly string[]): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
}

test('the page has a recipe in each of these languages, and every published vector', () => {
  for (const { info } of languages) expect(blocks.map((block) => block.info)).toContain(info);
  for (const text of [vectorSecret, vectorDevice, String(vectorSeconds)]) expect(page).toContain(text);
  for (const [, , userHash] of [...simpleVectors, ...boundVectors]) expect(page).toContain(`\`${userHash}\``);
});

test.each(languages.filter(({ command }) => isHere(command)))(
  'the recipe in $info gives the vectors',
  ({ info, command, opening = '', questions }) => {
    const recipe = blocks.find((block) => block.info === info)?.text ?? '';
    const [program = '', ...parameters] = command;
    const ids = simpleVectors.map(([, externalId]) => externalId);
    const printed = execFileSync(
      program,
      [...parameters, vectorSecret, vectorDevice, String(vectorSeconds), ...ids],
      // Arguments and output are UTF-8, whatever the machine speaks.
      { input: opening + recipe + questions, env: { ...process.env, LC_ALL: 'C.UTF-8' }, encoding: 'utf8' },
    );
    const lines = printed.trim().split('\n');
    expect(lines.slice(0, ids.length).map((line) => line.split(' ')[0])).toEqual(
      simpleVectors.map(([, , userHash]) => userHash),
    );
    for (const [, externalId, userHash] of boundVectors) {
      expect(lines[ids.indexOf(externalId)]?.split(' ')[1]).toBe(userHash);
    }
    const [, now = '0'] = /^t=(\d+),v1=[0-9a-f]{64}$/.exec(lines.at(-1) ?? '') ?? [];
    expect(Math.abs(Date.now() / 1000 - Number(now))).toBeLessThan(600);
  },
);
