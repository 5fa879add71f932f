// `reports rebuild`: computes again what reports have stored, from the events and deliveries that
// are kept.
import { instantText } from '../../ground/http/schemas.ts';
import { rebuildEventTotals } from '../../insight/events/rebuild-event-totals.ts';
import { rebuildAttribution } from '../../insight/reports/rebuild.ts';
import { recordAudit } from '../../teams/audit/record-audit.ts';
import { CommandError, note } from './answer.ts';
import { dateOf } from './command.ts';
import { appCommand } from './database-command.ts';

export const commands = [
  appCommand({
    form: 'reports rebuild <APP>',
    help: 'compute sums and classes again, as far as events and deliveries are kept; the rest stays as it is',
    fields: { from: instantText.optional(), to: instantText.optional() },
    writes: {
      from: '  the beginning; without it as far back as there are events',
      to: '  the end; without it now',
    },
    // A statement takes as long as a day of events needs.
    database: { limitMs: 0 },
    check({ from, to }) {
      if (from !== undefined && to !== undefined && new Date(from) >= new Date(to)) {
        throw new CommandError('--to must be later than --from');
      }
    },
    async run({ sql, clock, by }, { id: appId }, input) {
      const [from, to] = [dateOf(input.from), dateOf(input.to)];
      // Each day has its own transaction. The audit log gets its entry before the first of them.
      const entry = { appId, action: 'reports.rebuild', target: null, after: { from, to } } as const;
      await recordAudit({ tx: sql, clock, by }, entry);
      const onDay = (day: Date): void => note(`summed up ${day.toISOString().slice(0, 10)}`);
      const totals = await rebuildEventTotals(sql, { appId, from, to, onDay });
      const asked = { appId, fromMs: from?.getTime() ?? null, toMs: to?.getTime() ?? null };
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
    },
  }),
];
