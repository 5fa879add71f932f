import { describe, expect, it } from 'vitest';
import { hasBearer } from '../../ground/http/bearer.ts';
import { countersOf, createMetrics, mergeSnapshots, renderMetrics } from './registry.ts';

describe('the text of metrics', () => {
  it('is the exposition format, with escaped names', () => {
    const metrics = createMetrics();
    const asked = metrics.counter({ name: 'asked_total', help: 'Said\\ so\nfar.', labels: ['route', 'status'] });
    asked(['/a "b"\\\n', '200']);
    asked(['/a "b"\\\n', '200'], 2);
    metrics.gauge({ name: 'depth', help: 'How deep.' })([], 1.5);
    metrics.counter({ name: 'silent_total', help: 'Nothing yet.' });
    expect(renderMetrics(metrics.snapshot())).toBe(
      [
        '# HELP asked_total Said\\\\ so\\nfar.',
        '# TYPE asked_total counter',
        'asked_total{route="/a \\"b\\"\\\\\\n",status="200"} 3',
        '# HELP depth How deep.',
        '# TYPE depth gauge',
        'depth 1.5',
        '',
      ].join('\n'),
    );
  });

  it('adds up a histogram from bucket to bucket, with the values above the last bound', () => {
    const metrics = createMetrics();
    const took = metrics.histogram({ name: 'took_seconds', help: 'Time.', labels: ['to'], bounds: [0.1, 1] });
    for (const seconds of [0.05, 0.1, 0.5, 7]) took(['a'], seconds);
    expect(renderMetrics(metrics.snapshot()).split('\n').slice(2)).toEqual([
      'took_seconds_bucket{to="a",le="0.1"} 2',
      'took_seconds_bucket{to="a",le="1"} 3',
      'took_seconds_bucket{to="a",le="+Inf"} 4',
      'took_seconds_sum{to="a"} 7.65',
      'took_seconds_count{to="a"} 4',
      '',
    ]);
  });

  it('adds up the values of several processes, and keeps the counts of one that has ended', () => {
    const processOf = (asked: number, memory: number) => {
      const metrics = createMetrics();
      metrics.counter({ name: 'asked_total', help: 'x', labels: ['route'] })(['/a'], asked);
      metrics.gauge({ name: 'memory', help: 'x' })([], memory);
      metrics.histogram({ name: 'took', help: 'x', bounds: [1] })([], asked);
      return metrics.snapshot();
    };
    const merged = mergeSnapshots([processOf(1, 10), countersOf(processOf(2, 100)), processOf(4, 1000)]);
    expect(Object.fromEntries(merged.map(({ name, series }) => [name, series[0]?.values]))).toEqual({
      asked_total: [7],
      memory: [1010],
      took: [1, 2, 7],
    });
  });

  it('forgets the series that has rested longest where there are too many', () => {
    const metrics = createMetrics();
    const called = metrics.counter({ name: 'called_total', help: 'x', labels: ['webhook'], seriesMax: 2 });
    for (const webhook of ['a', 'b', 'a', 'c']) called([webhook]);
    const [family] = metrics.snapshot();
    expect(family?.series.map(({ labels, values }) => [labels[0], values[0]])).toEqual([
      ['a', 2],
      ['c', 1],
    ]);
  });
});

describe('a token in an Authorization header', () => {
  it.each([
    ['Bearer sixteen-letters!', true],
    ['bearer sixteen-letters!', true],
    ['Bearer sixteen-letters', false],
    ['Bearer sixteen-letters!!', false],
    ['Basic sixteen-letters!', false],
    ['Bearer', false],
    ['', false],
    [undefined, false],
  ])('%s: %s', (header, expected) => {
    expect(hasBearer(header, 'sixteen-letters!')).toBe(expected);
  });
});
