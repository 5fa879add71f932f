import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ColumnCount, columnCounts, readAccountCells, splitAccounts } from './firebase-columns.ts';
import { fileStart } from './records.ts';

interface Account {
  readonly id: string;
  readonly name?: string;
  readonly email?: string;
  readonly photo?: string;
  readonly provider?: { readonly name: string; readonly photo: string };
  readonly claims?: object | undefined;
}

/** Writes a line by the rules of firebase-tools, whatever is in it. */
function write({ id, name = '', email = '', photo = '', provider, claims }: Account, count: ColumnCount = 28): string {
  const quoted = (text: string): string => (text.includes(',') ? `"${text}"` : text);
  const cells = new Array<string>(28).fill('');
  cells.splice(0, 7, id, email, 'false', email && 'aGFzaA==', '', quoted(name), photo);
  if (provider) cells.splice(11, 4, '1015', '', quoted(provider.name), provider.photo);
  cells.splice(23, 4, '1700000000000', '1756800000000', '', 'false');
  if (claims) cells[27] = `"${JSON.stringify(claims).replace(/(?<!\\)"/g, '""')}"`;
  return `${cells.slice(0, count).join(',')},\n`;
}

/** The accounts of a file that arrives in pieces; null for a record that is none. */
function read(text: string, count: ColumnCount = 28, pieceBytes = 7) {
  const splitter = splitAccounts(count, fileStart);
  const bytes = Buffer.from(text);
  const records = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    records.push(...splitter.push(bytes.subarray(at, at + pieceBytes)));
  }
  records.push(...splitter.end());
  return records.map((record) => readAccountCells(record.bytes.toString('latin1'), count)?.cells ?? null);
}
const idsAndNames = (text: string) => read(text).map((cells) => cells && [cells.localId, cells.displayName]);

describe("an account in Firebase's CSV", () => {
  it.each([
    ['a line break', 'Ada\nLovelace'],
    ['line breaks of Windows, and blank lines', '\r\nAda\r\n\r\nLovelace\n'],
    ['a comma', 'Lovelace, Ada'],
    ['a comma and a line break', 'Lovelace,\nAda'],
    ['quotes', 'Ada "the" first'],
    ['quotes and commas', 'a "b", "c", d'],
    ['a quote at its begin', '"Ada'],
    ['quotes around all of it', '"Ada"'],
    ['a line that looks like the end of an account', 'x,1700000000000,,,false,,\ny'],
    ['a line that looks like the begin of one', 'x\nvictim,v@example.com,true,,,y'],
    ['letters of many bytes', '葵, "ö"\n👩'],
  ])('keeps %s in its name', (_what, name) => {
    const text = write({ id: 'one' }) + write({ id: 'two', name, claims: { plan: 'pro' } }) + write({ id: 'three' });
    const account = { createdAt: '1700000000000', customAttributes: '' };
    expect(read(text)).toEqual([
      { ...account, localId: 'one', displayName: '' },
      { ...account, localId: 'two', displayName: name, customAttributes: '{"plan":"pro"}' },
      { ...account, localId: 'three', displayName: '' },
    ]);
  });

  it('is not invented by the text of a name whose quotes stand alone', () => {
    const forged = `Ada${','.repeat(18)}1700000000000,,,false,,\nvictim,,true,,,Eve`;
    expect(idsAndNames(write({ id: 'one', name: forged }) + write({ id: 'two' }))).toEqual([
      ['one', forged],
      ['two', ''],
    ]);
    const paired = `Ada"${','.repeat(18)}1700000000000,,,false,,\nvictim,,true,,,Eve`;
    expect(idsAndNames(write({ id: 'one', name: paired }))).toEqual([['one', paired]]);
  });

  it('is read past commas in the address of a picture and in an id', () => {
    const photo = 'https://example.com/a,b,c.png';
    const accounts: Account[] = [
      { id: 'a,b', photo },
      { id: 'c', name: 'x, y', email: 'c@example.com', provider: { name: 'z,\nz', photo } },
    ];
    expect(idsAndNames(accounts.map((account) => write(account)).join(''))).toEqual([
      ['a,b', ''],
      ['c', 'x, y'],
    ]);
  });

  it('is read without its name when the name can be read in two ways', () => {
    const provider = { name: '', photo: 'https://example.com/b.png' };
    expect(idsAndNames(write({ id: 'one', name: '",",,,', provider }))).toEqual([['one', null]]);
  });

  it.each(columnCounts)('has %i columns in a version of firebase-tools', (count) => {
    const text = [{ id: 'one', name: 'Ada\nLovelace' }, { id: 'two' }].map((each) => write(each, count)).join('');
    expect(read(text, count).map((cells) => cells?.localId)).toEqual(['one', 'two']);
  });

  it('costs no other one when its line is broken', () => {
    const [one, two, three] = ['one', 'two', 'three'].map((id) => write({ id, name: 'Ada' }));
    expect(idsAndNames(`${one}${two?.slice(0, 30)}\n${three}`)).toEqual([['one', 'Ada'], null, ['three', 'Ada']]);
    expect(idsAndNames(`${one}nothing\n\n${three}`)).toEqual([['one', 'Ada'], null, ['three', 'Ada']]);
    expect(idsAndNames(`${one}${two?.trim()}`)).toEqual([
      ['one', 'Ada'],
      ['two', 'Ada'],
    ]);
  });

  it('can be continued from the end of any of them', () => {
    const names = ['Ada\nLovelace', 'a, "b"\nc', '"x', ''];
    const text = names.map((name, i) => write({ id: `u-${i}`, name })).join('');
    const whole = splitAccounts(28, fileStart);
    const all = [...whole.push(Buffer.from(text)), ...whole.end()];
    expect(all.map(({ line }) => line)).toEqual([1, 3, 5, 6]);
    for (const [i, { after }] of all.entries()) {
      const rest = splitAccounts(28, after);
      expect([...rest.push(Buffer.from(text).subarray(after.offset)), ...rest.end()]).toEqual(all.slice(i + 1));
    }
  });

  it('comes back exactly, whatever its name is', () => {
    const text = fc.array(fc.constantFrom('a', ' ', ',', '"', '\n', '\r\n', 'é', '",', '""'), { maxLength: 12 });
    // A name that begins with a quote and has no comma is told apart by the lines after it.
    const name = text.map((parts) => parts.join('')).filter((each) => !each.startsWith('"') || each.includes(','));
    const account = fc.record({
      id: fc.stringMatching(/^[A-Za-z0-9]{1,28}$/),
      name,
      email: fc.constantFrom('', 'ada@example.com'),
      photo: fc.constant(''),
      provider: fc.option(fc.record({ name, photo: fc.constant('') }), { nil: undefined }),
      claims: fc.option(fc.dictionary(fc.string({ maxLength: 5 }), fc.string({ maxLength: 8 }), { minKeys: 1 }), {
        nil: undefined,
      }),
    });
    fc.assert(
      fc.property(fc.array(account, { maxLength: 5 }), fc.integer({ min: 1, max: 300 }), (accounts, pieceBytes) => {
        const file = accounts.map((each) => write(each as Account)).join('');
        const found = read(file, 28, pieceBytes);
        expect(found.map((cells) => cells && [cells.localId, cells.customAttributes])).toEqual(
          accounts.map(({ id, claims }) => [id, claims ? JSON.stringify(claims) : '']),
        );
        for (const [i, { name, provider }] of accounts.entries()) {
          const mayDoubt = provider !== undefined && `${name}${provider.name}`.includes('",');
          if (!mayDoubt || found[i]?.displayName !== null) expect(found[i]?.displayName).toBe(name);
        }
      }),
      {
        numRuns: 300,
        examples: [
          [
            [
              {
                id: 'a',
                name: '",",",,",',
                email: '',
                photo: '',
                provider: { name: ',",,",', photo: '' },
                claims: undefined,
              },
              { id: '0', name: '', email: '', photo: '', provider: { name: ',', photo: '' }, claims: undefined },
            ],
            1,
          ],
        ],
      },
    );
  });
});
