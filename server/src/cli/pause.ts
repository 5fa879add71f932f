// `pause` and `resume`: stop and continue sends and webhooks in every process of the service, while
// the API goes on accepting. `resume` also ends the pause after a restore: with it the operator
// says that this database may send.

import type { Command } from 'commander';
import { firstOrganisationId } from '../apps/queries.ts';
import { pauseService, resumeService } from '../audit/pause-service.ts';
import { describePause, type Pause } from '../database/restore-guard.ts';
import { programName } from '../ground/program-name.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { type Answer, type AnswerOptions, answer, withJson } from './answer.ts';
import { CommandError } from './command-error.ts';
import { withDatabase } from './context.ts';

export function addPauseCommands(program: Command): void {
  withJson(program.command('pause'))
    .description('let sends and webhooks wait; the API goes on accepting')
    .action((options: AnswerOptions) => answer(options, pauseAll));
  withJson(program.command('resume'))
    .description('let sends and webhooks go on, also after a restore')
    .action((options: AnswerOptions) => answer(options, resumeAll));
}

async function pauseAll(): Promise<Answer> {
  const paused = await withDatabase(loadCommandConfig(), (context) =>
    pauseService({ ...context, orgId: firstOrganisationId }, 'operator'),
  );
  if (!paused) throw new CommandError('No service has run on this database yet: start it with START_PAUSED=1');
  return { document: present(paused), text: `${describePause(paused)}. They go on with: ${programName} resume` };
}

async function resumeAll(): Promise<Answer> {
  const ended = await withDatabase(loadCommandConfig(), (context) =>
    resumeService({ ...context, orgId: firstOrganisationId }),
  );
  return {
    document: present(null),
    text: ended ? `Sends and webhooks go on; they were paused since ${ended.at.toISOString()}.` : 'Nothing was paused.',
  };
}

function present(paused: Pause | null): object {
  return { paused_at: paused?.at ?? null, pause_reason: paused?.reason ?? null };
}
