// `reports rebuild`: computes the stored results of reports again, from the events and deliveries
// that are kept.
import type { Command } from 'commander';
import { recordAudit } from '../audit/record-audit.ts';
import { rebuildEventTotals } from '../events/rebuild-event-totals.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { rebuildAttribution } from '../reports/rebuild.ts';
import { type Answer, type AnswerOptions, answer, note, withJson } from './answer.ts';
import { CommandError } from './command-error.ts';
import { type CommandContext, withDatabase } from './context.ts';
import { getApp } from './find-app.ts';
import { readTime } from './read-time.ts';

interface RebuildOptions extends AnswerOptions {
  readonly from?: string;
  readonly to?: string;
}

export function addReportCommands(program: Command): void {
  const reports = program.command('reports').description('the stored sums of reports');
  withJson(reports.command('rebuild <APP>'))
    .description('compute sums and classes again, as far as events and deliveries are kept; the rest stays as it is')
    .option('--from <TIME>', 'the beginning; without it as far back as there are events')
    .option('--to <TIME>', 'the end; without it now')
    .action((name: string, options: RebuildOptions) => answer(options, () => rebuild(name, options)));
}

async function rebuild(name: string, options: RebuildOptions): Promise<Answer> {
  const from = options.from === undefined ? null : readTime('--from', options.from);
  const to = options.to === undefined ? null : readTime('--to', options.to);
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
