import { describe, expect, it } from 'vitest';
import { type ColumnsTogether, planCarried } from './plan-carried.ts';

const together = (columns: string, devices = 100): ColumnsTogether => ({ columns: columns.split(' '), devices });

describe('the further columns of an index', () => {
  it('are those compared together with its first column, and none where that is compared alone', () => {
    const all = [together('country text_01 number_02'), together('bool_01 number_09')];
    expect(planCarried('country', all, [])).toEqual(['number_02', 'text_01']);
    expect(planCarried('number_02', all, [])).toEqual(['country', 'text_01']);
    expect(planCarried('text_07', all, [])).toEqual([]);
  });

  it('are all of a list or none of it, at most four columns, those of the most devices first', () => {
    const all = [together('country bool_01 bool_02 bool_03', 50), together('country number_01 number_02', 60)];
    expect(planCarried('country', all, [])).toEqual(['number_01', 'number_02']);
    expect(planCarried('country', [...all, together('country bool_09', 10)], [])).toEqual([
      ...['bool_09', 'number_01', 'number_02'],
    ]);
  });

  it('stay the same while they are useful', () => {
    const all = [together('country bool_01 bool_02 bool_03', 50), together('country number_01 number_02', 60)];
    const built = ['app_id', 'country', 'platform_unit', 'user_id', 'bool_01', 'bool_02', 'bool_03'];
    expect(planCarried('country', all, built)).toEqual(['bool_01', 'bool_02', 'bool_03']);
    expect(planCarried('country', all.slice(1), built)).toEqual(['number_01', 'number_02']);
  });

  it('fit an entry, however long their texts are', () => {
    expect(planCarried('text_01', [together('text_01 text_02')], [])).toEqual(['text_02']);
    expect(planCarried('text_01', [together('text_01 text_02 text_03')], [])).toEqual([]);
    expect(planCarried('text_01', [together('text_01 text_02', 9), together('text_01 text_03', 8)], [])).toEqual([
      'text_02',
    ]);
    expect(planCarried('country', [together('country external_id')], [])).toEqual([]);
  });
});
