// For each claim of SECURITY.md the one line of code that keeps it, and what stands there without
// it: controls.diff. The rest of the file stays as it is, so the mutant compiles and starts.
import { readFileSync } from 'node:fs';

export interface Control {
  readonly file: string;
  /** The whole line, without its indent. It stands in its file exactly once. */
  readonly line: string;
  /** The line of the mutant; empty where the line is only removed. */
  readonly without: string;
}

const change = /^(S-\d+) (\S+)\n-(.+)\n(?:\+(.+)\n)?$/;

/** The controls by the number of their claim. Throws where a change is of another form. */
export function listControls(
  text = readFileSync(new URL('controls.diff', import.meta.url), 'utf8'),
): ReadonlyMap<string, Control> {
  const changes = text.split(/^(?=S-)/m).slice(1);
  return new Map(
    changes.map((each) => {
      const [, number, file, line, without = ''] = change.exec(each) ?? [];
      if (!number || !file || !line) throw new Error(`controls.diff has a change of another form: ${each}`);
      return [number, { file, line, without }];
    }),
  );
}
