import { describe, expect, it } from 'vitest';
import type { ApiError } from '../../ground/http/api-error.ts';
import { validate } from '../../ground/http/validate.ts';
import { audienceSchema } from './audience.ts';

const many = (count: number) => Array.from({ length: count }, (_, i) => `id-${i}`);

function issuesOf(audience: unknown): string[] {
  try {
    validate(audienceSchema, audience, ['audience']);
    return [];
  } catch (error) {
    const { issues } = (error as ApiError).details;
    return (issues ?? []).map((issue) => `${issue.path.join('.')} ${issue.code}`);
  }
}

describe('an audience', () => {
  it.each([
    [{ all: true }],
    [{ device_ids: ['dev_x', 'dev_x'] }],
    [{ device_ids: many(10_000) }],
    [{ external_ids: ['u-42'] }],
  ])('is exactly one selector: %j', (audience) => {
    expect(validate(audienceSchema, audience)).toEqual(audience);
  });

  it('takes a null selector for one that was left out', () => {
    expect(validate(audienceSchema, { all: null, device_ids: ['a'], external_ids: null })).toEqual({
      device_ids: ['a'],
    });
  });

  it.each<[unknown, string[]]>([
    [undefined, ['audience required']],
    [null, ['audience invalid_type']],
    ['all', ['audience invalid_type']],
    [{}, ['audience exactly_one_required']],
    [{ all: null }, ['audience exactly_one_required']],
    [{ all: true, device_ids: ['a'] }, ['audience exactly_one_required']],
    [{ device_ids: ['a'], external_ids: ['b'] }, ['audience exactly_one_required']],
    [{ all: false }, ['audience.all invalid_value']],
    [{ all: 'true' }, ['audience.all invalid_value']],
    [{ device_ids: [] }, ['audience.device_ids too_small']],
    [{ device_ids: many(10_001) }, ['audience.device_ids too_big']],
    [{ device_ids: 'dev_x' }, ['audience.device_ids invalid_type']],
    [{ device_ids: ['a', 7] }, ['audience.device_ids.1 invalid_type']],
    [{ external_ids: [''] }, ['audience.external_ids.0 too_small']],
    [{ external_ids: ['x'.repeat(257)] }, ['audience.external_ids.0 too_big']],
    [{ everyone: true }, ['audience.everyone unrecognized_keys', 'audience exactly_one_required']],
    [{ all: true, segment: 'x' }, ['audience.segment unrecognized_keys']],
  ])('refuses %j', (audience, expected) => {
    expect(issuesOf(audience)).toEqual(expected);
  });
});
