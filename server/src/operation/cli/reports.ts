// `reports rebuild`: computes again what reports have stored, from the events and deliveries that
// are kept.
import { z } from 'zod';
import { instantText } from '../../ground/http/schemas.ts';
import { rebuildEventTotals } from '../../insight/events/rebuild-event-totals.ts';
import { rebuildAttribution } from '../../insight/reports/rebuild.ts';
import { recordAudit } from '../../teams/audit/record-audit.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { type Answer, note } from './answer.ts';
import { command } from './command.ts';
import { CommandError } from './command-error.ts';
import { type CommandContext, withDatabase } from './context.ts';
import { getApp } from './find-app.ts';

export const reportsCommands = [
  command({
    form: 'reports rebuild <APP>',
    help: 'compute sums and classes again, as far as events and deliveries are kept; the rest stays as it is',
    input: z.strictObject({ app: z.string(), from: instantText.optional(), to: instantText.optional() }),
    writes: {
      from: '  the beginning; without it as far back as there are events',
      to: '  the end; without it now',
    },
    run: ({ app, from, to }) => rebuild(app, dateOf(from), dateOf(to)),
  }),
];

const dateOf = (text: string | undefined): Date | null => (text === undefined ? null : new Date(text));

async function rebuild(name: string, from: Date | null, to: Date | null): Promise<Answer> {
  if (from !== null && to !== null && from >= to) throw new CommandError('--to must be later than --from');
  const work = async ({ sql, clock, by }: CommandContext): Promise<Answer> => {
    const { id } = await getApp(sql, name);
    // Each day has its own transaction. The audit log gets its entry before the first of them.
    await recordAudit(
      { tx: sql, clock, by },
      { appId: id, action: 'reports.rebuild', target: null, after: { from, to } },
    );
    const totals = await rebuildEventTotals(sql, {
      appId: id,
      from,
      to,
      onDay: (day) => note(`summed up ${day.toISOString().slice(0, 10)}`),
    });
    const asked = { appId: id, fromMs: from?.getTime() ?? null, toMs: to?.getTime() ?? null };
    const { range, ...classed } = await rebuildAttribution({ sql, clock }, asked);
    const shown = range && { from: new Date(range.fromMs), to: new Date(range.toMs) };
    return {
      document: { days: totals.days, events: totals.events, classed: { range: shown, ...classed } },
      text: [
        `Summed up again: ${totals.events} events of ${totals.days} days.`,
        shown === null
          ? 'Nothing was classed again: the deliveries of settled purchases, installs and sessions are deleted.'
          : `Classed again from ${shown.from.toISOString()} to ${shown.to.toISOString()}: ${classed.purchases} purchases, ` +
            `${classed.installs} installs, ${classed.sessions} sessions, all of them settled.`,
      ].join('\n'),
    };
  };
  // A statement takes as long as a day of events needs.
  return withDatabase(loadCommandConfig(), work, { limitMs: 0 });
}
