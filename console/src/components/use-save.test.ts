import { expect, test } from 'vitest';
import { fieldErrors } from './use-save.ts';

test('an issue of a field that the form lacks is shown at the foot of the form', () => {
  const issues = [{ path: ['updated_at'], code: 'changed_meanwhile', message: 'Somebody saved it.' }];
  expect(fieldErrors(issues, { name: '' }, ([field]) => String(field))).toEqual({});
});

test('an issue marks the field that its path names, however deep', () => {
  const issues = [
    { path: ['endpoint'], code: 'invalid_value', message: 'Give an https address.' },
    { path: ['events', 2], code: 'invalid_value', message: 'No such event.' },
    { path: ['events', 3], code: 'invalid_value', message: 'Neither this one.' },
    { path: [], code: 'too_big', message: 'There are 20 already.' },
  ];
  expect(fieldErrors(issues, { endpoint: '', events: [] })).toEqual({
    endpoint: 'Give an https address.',
    events: 'No such event.',
  });
});
