// Reads the numbered claims of SECURITY.md: each promise with the test that proves it. The line of
// code that keeps the promise stands in controls.ts.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../../../rig/src/workbench.ts';

export interface Claim {
  /** `S-1`. */
  readonly number: string;
  readonly promise: string;
  /** The path of the test file. */
  readonly file: string;
  /**
   * The test's title as its file has it, with the placeholders of a table. The titles above it stand
   * before it, ` > ` between them, where its own alone would not say what it is about.
   */
  readonly test: string;
}

const item = /^- \*\*(S-\d+)\*\* (.+) \(`([^`]+)`, "([^"]+)"\)$/;

/** The claims in their order. Throws where an item that begins with a number is of another form. */
export function listClaims(markdown = readFileSync(join(repository, 'SECURITY.md'), 'utf8')): readonly Claim[] {
  const paragraphs = markdown.split(/\n(?=\n|- )/).map((each) => each.trim().replace(/\s+/g, ' '));
  return paragraphs.flatMap((text) => {
    const [, number, promise, file, test] = item.exec(text) ?? [];
    if (number && promise && file && test) return [{ number, promise, file, test }];
    if (/^\W*S-\d/.test(text)) throw new Error(`SECURITY.md has a claim of another form: ${text}`);
    return [];
  });
}

/** Matches the full names of the tests that a title makes: one, or one for each row of its table. */
export function titlePattern(title: string): RegExp {
  const literal = title
    .replaceAll(' > ', ' ')
    .split(/%[\d.$]*[a-z]|\$[a-z]\w*/i)
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`(?:^| )${literal.join('[^]*')}$`);
}
