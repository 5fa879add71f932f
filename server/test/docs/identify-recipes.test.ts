// Runs the recipes of the page on the identify hash, in every language that this machine has. They
// must produce the published vectors. A recipe runs exactly as printed, followed only by the
// questions.
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
  /** The command that runs a program from standard input. */
  readonly command: readonly string[];
  /** Text to put before the recipe. */
  readonly opening?: string;
  /**
   * Code that prints one hash per line for external ids. The arguments are the secret, the device
   * and the ids.
   */
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
  'the recipe in $info produces the vectors',
  ({ info, command, opening = '', questions }) => {
    const recipe = blocks.find((block) => block.info === info)?.text ?? '';
    const [program = '', ...parameters] = command;
    const ids = simpleVectors.map(([, externalId]) => externalId);
    const printed = execFileSync(
      program,
      [...parameters, vectorSecret, vectorDevice, String(vectorSeconds), ...ids],
      // Arguments and output are UTF-8, whatever the machine's locale.
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
