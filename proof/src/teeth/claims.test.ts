// Holds SECURITY.md and the table of controls together, so that neither rots while the proof is not
// run.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { repository } from '../../../rig/src/workbench.ts';
import { listClaims, titlePattern } from './claims.ts';
import { listControls } from './controls.ts';
import { withoutControl } from './tree.ts';

const read = (file: string): string => readFileSync(join(repository, file), 'utf8');
const claims = listClaims();
const controls = listControls();

describe('R-105 the claims of SECURITY.md', () => {
  it('are numbered from 1 on, and each has a control and is a sentence of its own', () => {
    expect(claims.length).toBeGreaterThanOrEqual(50);
    expect(claims.map(({ number }) => number)).toEqual(claims.map((_claim, i) => `S-${i + 1}`));
    expect([...controls.keys()]).toEqual(claims.map(({ number }) => number));
    expect(new Set(claims.map(({ promise }) => promise)).size).toBe(claims.length);
  });

  it('name tests that their files have', () => {
    // A title is in quotes of its own, and so is each title above it.
    const isIn = (source: string, title: string) => ['"', "'", '`'].some((q) => source.includes(q + title + q));
    const unknown = claims.filter(({ file, test }) => !test.split(' > ').every((title) => isIn(read(file), title)));
    expect(unknown).toEqual([]);
  });

  it('have controls that stand in their files once', () => {
    for (const control of controls.values()) {
      const text = read(control.file);
      expect(withoutControl(text, control)).not.toBe(text);
    }
  });

  it('are no list where one has another form', () => {
    const good = '- **S-1** It holds (`a.test.ts`, "it\n  holds")\n';
    expect(listClaims(good)).toEqual([{ number: 'S-1', promise: 'It holds', file: 'a.test.ts', test: 'it holds' }]);
    expect(() => listClaims(`${good}- **S-2** It has no test.\n`)).toThrow(
      'of another form: - **S-2** It has no test.',
    );
  });
});

it.each([
  ['is refused', 'the door is refused', true],
  ['is refused', 'the door is refused twice', false],
  ['is refused', 'the door has not this refused', false],
  ['%s is $kind (now)', 'the door what is it (now)', true],
  ['the door > %s', 'the door opens', true],
  ['the door > %s', 'the window opens', false],
])('the title %j fits the full name %j: %j', (title, name, fits) => {
  expect(titlePattern(title).test(name)).toBe(fits);
});

it('a control is a line and, where another takes its place, that line', () => {
  const text = 'Said before.\n\nS-1 a.ts\n-check();\nS-2 b.ts\n-return a - 1;\n+return 1;\n';
  expect([...listControls(text)]).toEqual([
    ['S-1', { file: 'a.ts', line: 'check();', without: '' }],
    ['S-2', { file: 'b.ts', line: 'return a - 1;', without: 'return 1;' }],
  ]);
  expect(() => listControls(`${text}-more();\n`)).toThrow('of another form: S-2 b.ts');
});

it('a control that stands twice or not at all has no mutant', () => {
  const control = { file: 'a.ts', line: 'check();', without: '' };
  expect(withoutControl('  check();\ndone();', control)).toBe('\ndone();');
  expect(() => withoutControl('check();\ncheck();', control)).toThrow('a.ts has 2 times the line: check();');
  expect(() => withoutControl('', control)).toThrow('a.ts has 0 times the line: check();');
});
