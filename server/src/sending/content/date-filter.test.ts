import { describe, expect, test } from 'vitest';
import { formatDate } from './date-filter.ts';

const berlin = { timezone: 'Europe/Berlin', language: 'en' };
const instant = '2026-03-05T08:04:09.012Z';

describe('the filter date', () => {
  test.each([
    ['%Y %C %y %m %d %e|%-d %-m', '2026 20 26 03 05  5|5 3'],
    ['%H %k %I %l %M %S %L %p %P', '09  9 09  9 04 09 012 AM am'],
    ['%j %u %w %U %W %V %G', '064 4 4 09 09 10 2026'],
    ['%B %b %h %A %a', 'March Mar Mar Thursday Thu'],
    ['%^B %^a %#b', 'MARCH THU MAR'],
    ['%F %T|%D|%R|%r', '2026-03-05 09:04:09|03/05/26|09:04|09:04:09 AM'],
    ['%z %:z %s', '+0100 +01:00 1772697849'],
    ['%03d %_m %5Y %10b', '005  3 02026        Mar'],
    ['%%Y 100% %Q %', '%Y 100% %Q %'],
    ['%n%t', '\n\t'],
  ])('%j is %j', (format, text) => {
    expect(formatDate(instant, format, berlin)).toBe(text);
  });

  test.each([
    ['de', '5 März März Donnerstag'],
    ['ru', '5 марта мар. четверг'],
    ['zh-Hant-TW', '5 3月 3月 星期四'],
    ['ar', '5 مارس مارس الخميس'],
    ['iw', '5 מרץ מרץ יום חמישי'],
    ['th-TH-u-ca-buddhist-nu-thai', '5 มีนาคม มี.ค. วันพฤหัสบดี'],
    ['qaa', '5 March Mar Thursday'],
    ['qaa-such-language-tag-1', '5 March Mar Thursday'],
    ['de-DEU', '5 März März Donnerstag'],
  ])('the names are in the language %s, and the digits are the usual ones', (language, text) => {
    expect(formatDate(instant, '%-d %B %b %A', { ...berlin, language })).toBe(text);
  });

  test.each([
    ['2026-07-01', '2026-07-01 00:00 +0200'],
    ['2026-07-01T10:00', '2026-07-01 10:00 +0200'],
    ['2026-07-01 10:00:00', '2026-07-01 10:00 +0200'],
    ['2026-07-01T10:00:00.5+05:30', '2026-07-01 06:30 +0200'],
    ['2026-07-01t10:00z', '2026-07-01 12:00 +0200'],
    ['2026-12-31T23:59:59-01', '2027-01-01 01:59 +0100'],
    // The clocks skip this hour, and show the next one twice in October.
    ['2026-03-29T01:30:00Z', '2026-03-29 03:30 +0200'],
    ['2026-10-25T00:30:00Z', '2026-10-25 02:30 +0200'],
    ['2026-10-25T01:30:00Z', '2026-10-25 02:30 +0100'],
  ])('%s is %s in Berlin', (value, text) => {
    expect(formatDate(value, '%F %H:%M %z', berlin)).toBe(text);
  });

  test.each([
    ...['', 'now', 'today', 'soon', '2026', '2026-02-30', '2026-13-01', '2026-01-01T25:00', '1772697849', '01/02/2026'],
    ...['2026-01-01T10:00:00+24:00', '2026-01-01T10:00-05:60', '2026-01-01T24:00Z', '2026-01-01T23:59:60Z', '2026-W01'],
    ...[1772697849, true, undefined, null],
  ])('another value stays as it is: %j', (value) => {
    expect(formatDate(value, '%Y', berlin)).toBe(value);
  });

  test.each(['', undefined, 5])('and so does a date without a format: %j', (format) => {
    expect(formatDate(instant, format, berlin)).toBe(instant);
  });

  test('no width makes a text long', () => {
    expect(formatDate(instant, '%999999999d', berlin)).toBe('%999999999d');
    expect(formatDate(instant, '%99d', berlin)).toHaveLength(99);
  });
});
