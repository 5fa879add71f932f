import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { textCell } from '../../ground/values/csv.ts';
import { detectFormat } from './detect.ts';
import type { GivenRow } from './given-row.ts';

/** The rows of a file that arrives in pieces. Throws for a record that is refused. */
function readRows(bytes: Buffer, pieceBytes = 5): GivenRow[] {
  const format = detectFormat(bytes);
  const splitter = format.split(format.from);
  const records = [];
  for (let at = format.from.offset; at < bytes.length; at += pieceBytes) {
    records.push(...splitter.push(bytes.subarray(at, at + pieceBytes)));
  }
  return [...records, ...splitter.end()].flatMap((record) => [...format.read(record)]);
}
const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;

describe('the format of a file', () => {
  const text = fc
    .array(fc.constantFrom('a', ' ', ',', ';', '\t', '"', '""', '\n', '\r\n', '\r', "'", '=', 'é', '👩'), {
      maxLength: 8,
    })
    .map((parts) => parts.join(''));

  it('gives back every table that is written by the rules of CSV', () => {
    const rows = fc.array(fc.tuple(text, text, fc.boolean()), { maxLength: 6 });
    const [delimiters, lineEnds] = [fc.constantFrom(',', ';', '\t'), fc.constantFrom('\n', '\r\n')];
    fc.assert(
      fc.property(
        rows,
        delimiters,
        lineEnds,
        fc.boolean(),
        fc.boolean(),
        (table, delimiter, lineEnd, hasMark, isEnded) => {
          const lines = table.map(([name, note, isBare], i) => {
            const cells = [`u-${i}`, textCell(name), textCell(note)];
            const isPlain = (cell: string): boolean => isBare && !/[\r\n"]/.test(cell) && !cell.includes(delimiter);
            return cells.map((cell) => (isPlain(cell) ? cell : quoted(cell))).join(delimiter);
          });
          const header = ['external_id', 'first_name', 'properties.note:string'].join(delimiter);
          const file = `${hasMark ? '\ufeff' : ''}${[header, ...lines].join(lineEnd)}${isEnded ? lineEnd : ''}`;
          expect(readRows(Buffer.from(file)).map(({ user, userCells }) => ({ user, userCells }))).toEqual(
            table.map(([name, note], i) => ({
              user: { external_id: `u-${i}`, ...(name !== '' && { first_name: name }) },
              userCells: note === '' ? [] : [{ key: 'note', text: note, type: 'string' }],
            })),
          );
        },
      ),
      { numRuns: 300 },
    );
  });

  it('gives back every text of a OneSignal file, its tags included', () => {
    const header = 'identifier,device_type,invalid_identifier,external_user_id,device_model,tags';
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text), { maxLength: 6 }), (table) => {
        const lines = table.map(([model, tag], i) =>
          [`token-${i}`, '1', 'f', `u-${i}`, model, JSON.stringify({ tag })].map(quoted).join(),
        );
        const rows = readRows(Buffer.from([header, ...lines].join('\n')));
        expect(rows.map(({ device, userCells }) => [device?.['model'] ?? '', userCells[0]?.text ?? ''])).toEqual(table);
      }),
    );
  });

  it('gives back every text of a JSON list', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 6 }), (table) => {
        const users = table.map(([name, tag], i) => ({
          localId: `u-${i}${name}`,
          customAttributes: JSON.stringify({ tag }),
        }));
        const rows = readRows(Buffer.from(JSON.stringify({ users }, null, 2)));
        expect(rows.map(({ user, userCells }) => [user?.['external_id'], userCells[0]?.text ?? ''])).toEqual(
          table.map(([name, tag], i) => [`u-${i}${name}`, tag]),
        );
      }),
    );
  });

  it.each([
    ['another order', 'first_name,external_id\nAda,u-1\n'],
    ['another case', 'EXTERNAL_ID,First_Name\nu-1,Ada\n'],
    ['spaces around', ' external_id , first_name\nu-1,Ada'],
    ['names in quotes', '"external_id","first_name"\r\n"u-1","Ada"\r\n'],
    ['a column without a name', 'external_id,,first_name\nu-1,x,Ada\n'],
    ['a line break in quotes', '\ufeffexternal_id,first_name,"my\r\nnote","a\rb","c\nd"\r\nu-1,Ada,x,y,z\r\n'],
    ['more commas in its quotes than separators', 'external_id;first_name;"a,b,c,d"\nu-1;Ada;x\n'],
  ])('may have a header with %s', (_what, file) => {
    expect(readRows(Buffer.from(file))).toMatchObject([{ user: { external_id: 'u-1', first_name: 'Ada' } }]);
  });

  it('keeps the letter case of a property, and knows a type in any case', () => {
    expect(readRows(Buffer.from('External_Id,Properties.Plan:String\nu-1,1\n'))).toMatchObject([
      { userCells: [{ key: 'Plan', text: '1', type: 'string' }] },
    ]);
    expect(() => detectFormat(Buffer.from('external_id,first_name,First_Name\n'))).toThrow(/named 'First_Name'/);
    expect(detectFormat(Buffer.from('external_id,properties.a,properties.A,Note\n')).ignored).toEqual(['Note']);
  });

  it('has one column for a property, whatever types the header names', () => {
    for (const twice of ['properties.age,properties.age:number', 'properties.age:string,Properties.age:number']) {
      expect(() => detectFormat(Buffer.from(`external_id,${twice}\n`))).toThrow(/named '[pP]roperties.age/);
    }
    expect(detectFormat(Buffer.from('external_id,note:a,note:b\n')).ignored).toEqual(['note:a', 'note:b']);
  });

  it.each(['external_id,first_name\ru-1,Ada\r', '"external_id","first_name"\r"u-1","Ada"\r'])(
    'is refused where lines end with CR alone: %j',
    (file) => {
      expect(() => detectFormat(Buffer.from(file))).toThrow(/lines end with CR alone/);
    },
  );

  it('of Airship and Firebase may write an id as a number', () => {
    const named = [9007199254740993n, 12].map(
      (id) => `{"channel_id":"a","device_type":"ios","push_address":"x","named_user_id":${id}}`,
    );
    const users = [...readRows(Buffer.from(named.join('\n'))), ...readRows(Buffer.from('{"localId":12}'))];
    expect(users.map(({ user }) => user?.['external_id'])).toEqual(['9007199254740993', '12', '12']);
  });

  it.each(['utf16le', 'utf16le with a mark'])('is refused as %s', (kind) => {
    const file = `${kind.endsWith('mark') ? '\ufeff' : ''}external_id\nu-1\n`;
    expect(() => detectFormat(Buffer.from(file, 'utf16le'))).toThrow(/UTF-16: save it as UTF-8/);
  });

  it.each([
    [
      "OneSignal's columns in another order and case",
      'Device_Type,INVALID_IDENTIFIER,identifier\n1,f,x\n',
      'OneSignal CSV',
    ],
    [
      'an Airship channel whose string cannot be stored',
      '{"channel_id":"a","device_type":"ios","x":"\\u0000"}',
      'Airship channels',
    ],
  ])('is that of %s', (_what, file, name) => {
    expect(detectFormat(Buffer.from(file)).name).toBe(name);
  });
});
