import { describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../../../packages/postgres/test/database.ts';
import { loadTimeZones } from '../database/load-time-zones.ts';
import type { ApiError } from '../http/api-error.ts';
import { validate } from '../http/validate.ts';
import { createTimeZones, timeZoneField } from './time-zones.ts';

describe('time zones of a real database', async () => {
  const { sql } = await createTestDatabase();
  const timeZones = await loadTimeZones(sql);

  it.each([
    ['Europe/Berlin', 'Europe/Berlin'],
    ['europe/berlin', 'Europe/Berlin'],
    ['UTC', 'UTC'],
    ['utc', 'UTC'],
    ['America/Argentina/Buenos_Aires', 'America/Argentina/Buenos_Aires'],
    // An alias keeps the given name.
    ['Asia/Kolkata', 'Asia/Kolkata'],
    ['ASIA/CALCUTTA', 'Asia/Calcutta'],
    ['Etc/GMT+5', 'Etc/GMT+5'],
  ])('%s is known as %s', (given, name) => {
    expect(timeZones.find(given)).toBe(name);
  });

  it('lists several hundred names, with aliases', () => {
    const names = timeZones.names();
    expect(names.length).toBeGreaterThan(400);
    expect(names).toEqual(
      expect.arrayContaining(['Europe/Berlin', 'UTC', 'Asia/Kolkata', 'Asia/Calcutta', 'Etc/GMT+12']),
    );
    for (const name of names) expect(timeZones.find(name)).toBe(name);
  });

  it.each([
    '+01:00',
    '+0100',
    'UTC+1',
    'Mars/Olympus',
    '',
    ' UTC',
    'Europe/Berlin ',
    'posix/Europe/Berlin',
    'Factory',
    '__proto__',
  ])("'%s' is no time zone", (given) => {
    expect(timeZones.find(given)).toBeUndefined();
  });
});

describe('names that only one side knows', () => {
  const timeZones = createTimeZones(['Europe/Berlin', 'Europe/Atlantis']);

  it('refuses a name that the runtime does not know', () => {
    expect(timeZones.find('Europe/Atlantis')).toBeUndefined();
  });

  it('lists neither', () => {
    expect(timeZones.names()).toEqual(['Europe/Berlin']);
  });

  it('refuses a name that the database does not know', () => {
    expect(timeZones.find('Europe/Paris')).toBeUndefined();
  });
});

describe('the field', () => {
  it('answers 400 unknown_timezone at its path', () => {
    const field = timeZoneField(createTimeZones(['UTC']));
    expect(validate(field, 'utc', ['timezone'])).toBe('UTC');
    try {
      validate(field, 'Nowhere', ['timezone']);
      expect.unreachable();
    } catch (error) {
      expect((error as ApiError).details.issues).toMatchObject([{ path: ['timezone'], code: 'unknown_timezone' }]);
    }
  });
});
