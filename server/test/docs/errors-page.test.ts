// Compares docs/errors.md with the codes of the service: none is missing, and none is listed that
// no caller can get.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type ApiErrorCode, apiErrors, isConsoleError } from '../../src/ground/http/api-error.ts';
import { issueCodes } from '../../src/ground/values/issue.ts';
import { errorCodes } from '../../src/sending/channels/error-code.ts';
import { skipReasons } from '../../src/sending/delivery/delivery.ts';

const text = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8');

/** The rows of the table that begins with this heading. */
function rowsOf(heading: string): string[][] {
  const from = text.indexOf(`| ${heading} |`);
  if (from < 0) throw new Error(`docs/errors.md has no table ${heading}`);
  const [table = ''] = text.slice(from).split('\n\n');
  return table
    .split('\n')
    .slice(2)
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|').map((cell) => cell.trim()));
}

const codesIn = (cell: string | undefined): string[] =>
  [...(cell ?? '').matchAll(/`([a-z_]+)`/g)].map(([, code]) => code ?? '');
const first = (rows: string[][]): string[] => rows.flatMap(([, cell]) => codesIn(cell));

describe('R-81 docs/errors.md', () => {
  it('has every error of both APIs with its status', () => {
    for (const [heading, isOfConsole] of [
      ['Status', false],
      ['Console', true],
    ] as const) {
      const shown = rowsOf(heading).map(([, status, error]) => [codesIn(error).join(), Number(status)]);
      const codes = (Object.keys(apiErrors) as ApiErrorCode[]).filter((code) => isConsoleError(code) === isOfConsole);
      expect(shown.sort()).toEqual(codes.map((code) => [code, apiErrors[code].status]).sort());
    }
  });

  it('has every code of an issue', () => {
    expect(first(rowsOf('`code`')).sort()).toEqual([...issueCodes].sort());
  });

  it('has every code of a delivery and every reason to skip one', () => {
    expect(first(rowsOf('`error_code`'))).toEqual([...errorCodes]);
    expect(first(rowsOf('Reason'))).toEqual([...skipReasons]);
  });
});
