// `migrate`: brings the schema up to date, or says whether it is up to date.

import { z } from 'zod';
import { missingMigrations } from '../../ground/database/migrations.ts';
import { programName } from '../../ground/host/program-name.ts';
import { prepareDatabase } from '../process/prepare-database.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { type Answer, note } from './answer.ts';
import { command, flag } from './command.ts';
import { withAnySchema } from './context.ts';

export const commands = [
  command({
    form: 'migrate',
    help: 'bring the schema up to date',
    input: z.strictObject({ check: flag.describe('change nothing; exit 1 if it is not up to date') }),
    run: ({ check }) => (check ? checkSchema() : migrateSchema()),
  }),
];

async function migrateSchema(): Promise<Answer> {
  const options = { limitMs: 0, mayMake: true };
  const { applied, wasEmpty } = await withAnySchema(loadCommandConfig(), options, (sql) => prepareDatabase(sql, note));
  const done = wasEmpty ? `Made the schema, with ${applied.length} migrations.` : `Applied ${applied.join(', ')}.`;
  const text = applied.length === 0 ? 'The schema is up to date.' : done;
  return { document: { up_to_date: true, applied, missing: [] }, text };
}

async function checkSchema(): Promise<Answer> {
  const missing = await withAnySchema(loadCommandConfig(), { limitMs: 0 }, missingMigrations);
  if (missing.length === 0) {
    return { document: { up_to_date: true, applied: [], missing }, text: 'The schema is up to date.' };
  }
  return {
    document: { up_to_date: false, applied: [], missing },
    text: missing.map((name) => `missing: ${name}`).join('\n'),
    problem: `The schema is not up to date: ${missing.length} to apply, with: ${programName} migrate`,
  };
}
