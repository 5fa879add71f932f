// The commands that work on the database that the service uses, and those of one app in it, which
// APP names by its id or by a unique name.
import { z } from 'zod';
import type { App } from '../../teams/apps/queries.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import type { Answer } from './answer.ts';
import { type CommandForm, command } from './command.ts';
import { type CommandContext, type DatabaseOptions, withDatabase } from './context.ts';
import { getApp } from './find-app.ts';

interface Form<Fields extends z.ZodRawShape, Given extends readonly unknown[]>
  extends Pick<CommandForm, 'form' | 'help' | 'writes'> {
  /** What it takes. Absent: nothing. */
  readonly fields?: Fields;
  readonly database?: DatabaseOptions;
  /** Refuses what no database need be asked about. */
  check?(input: z.output<z.ZodObject<Fields>>): void;
  run(context: CommandContext, ...given: [...Given, z.output<z.ZodObject<Fields>>]): Promise<Answer>;
}

type NoFields = Record<never, never>;

export function databaseCommand<Fields extends z.ZodRawShape = NoFields>(form: Form<Fields, []>): CommandForm {
  const { fields, database, check, run, ...words } = form;
  const input = z.strictObject({ ...fields } as Fields);
  return command({
    ...words,
    input,
    async run(given) {
      check?.(given);
      return withDatabase(loadCommandConfig(), (context) => run(context, given), database);
    },
  });
}

/** Its form names the app first, and `fields` are the others. */
export function appCommand<Fields extends z.ZodRawShape = NoFields>(form: Form<Fields, [App]>): CommandForm {
  const { fields, check, run, ...words } = form;
  type Given = z.output<z.ZodObject<Fields>>;
  return databaseCommand({
    ...words,
    check: (given) => check?.(given as Given),
    fields: { app: z.string(), ...fields } as z.ZodRawShape,
    async run(context, { app, ...given }) {
      return run(context, await getApp(context.sql, app as string), given as Given);
    },
  });
}
