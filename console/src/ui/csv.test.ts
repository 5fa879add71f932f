import { expect, test } from 'vitest';
import { writeCsv } from './csv.ts';

test('cells with separators are quoted, and absent values are empty', () => {
  expect(
    writeCsv(
      ['name', 'n'],
      [
        ['a "b", c', 1],
        [null, -2],
      ],
    ),
  ).toBe('name,n\r\n"a ""b"", c",1\r\n,-2\r\n');
});

test('no text of a stranger starts a formula in a spreadsheet', () => {
  expect(writeCsv(['x'], [['=HYPERLINK("http://a")'], ['-1+1'], ['＝1']])).toBe(
    'x\r\n"\'=HYPERLINK(""http://a"")"\r\n\'-1+1\r\n\'＝1\r\n',
  );
});
