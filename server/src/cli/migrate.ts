// `migrate`: brings the schema up to date, or says whether it is.

import type { Command } from 'commander';
import { loadConfig } from '../config.ts';
import { missingMigrations } from '../platform/migrate.ts';
import { programName } from '../platform/program-name.ts';
import { prepareDatabase } from '../prepare-database.ts';
import { type Answer, type AnswerOptions, answer, withJson } from './answer.ts';
import { withAnySchema } from './context.ts';

export function addMigrateCommand(program: Command): void {
  withJson(program.command('migrate'))
    .description('bring the schema up to date')
    .option('--check', 'change nothing; exit 1 if it is not up to date')
    .action((options: AnswerOptions & { check?: boolean }) =>
      answer(options, () => (options.check ? checkSchema() : migrateSchema())),
    );
}

async function migrateSchema(): Promise<Answer> {
  const applied = await withAnySchema(loadConfig(), 0, prepareDatabase);
  const text = applied.length === 0 ? 'The schema is up to date.' : `Applied ${applied.join(', ')}.`;
  return { document: { up_to_date: true, applied, missing: [] }, text };
}

async function checkSchema(): Promise<Answer> {
  const missing = await withAnySchema(loadConfig(), 0, missingMigrations);
  if (missing.length === 0) {
    return { document: { up_to_date: true, applied: [], missing }, text: 'The schema is up to date.' };
  }
  return {
    document: { up_to_date: false, applied: [], missing },
    text: missing.map((name) => `missing: ${name}`).join('\n'),
    problem: `The schema is not up to date: ${missing.length} to apply, with: ${programName} migrate`,
  };
}
