// Prints what a person at the console waits for, beside what is wanted.
import { busyCores, describeMachine, table } from './describe.ts';
import type { ConsoleMeasured, Result } from './results.ts';

export function describeConsole(result: Result<ConsoleMeasured>): string {
  const { params, figures, foreign_cores: foreignCores } = result;
  const rows = figures.map(({ name, value, unit, atMost }) => [
    ...[name, value, unit, atMost === null ? '' : `≤ ${atMost}`],
    atMost !== null && value > atMost ? 'MISSED' : '',
  ]);
  return [
    `The console over ${params['devices']} devices and ${params['events']} events`,
    '',
    table([['', '', '', 'WANTED', ''], ...rows]),
    '',
    ...(foreignCores > busyCores ? [`Other programs kept ${foreignCores} cores busy: it was not idle.`] : []),
    describeMachine(result),
  ].join('\n');
}
