// The commands that work on the database that the service uses, and those of one app in it, which
// APP names by its id or by a unique name.
import { z } from 'zod';
import type { App } from '../../teams/apps/queries.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import type { Answer } from './answer.ts';
import { type CommandForm, command } from './command.ts';
import { type CommandContext, type DatabaseOptions, withDatabase } from './context.ts';
import { getApp } from './find-app.ts';

interface Form<Fields extends z.ZodRawShape, Leading extends readonly unknown[]>
  extends Pick<CommandForm, 'form' | 'help' | 'writes'> {
  /** The arguments and options of the command. None by default. */
  readonly fields?: Fields;
  readonly database?: DatabaseOptions;
  /** Runs before the database is opened. Throws a `CommandError` for input that no database makes right. */
  check?(input: z.output<z.ZodObject<Fields>>): void;
  run(context: CommandContext, ...given: [...Leading, z.output<z.ZodObject<Fields>>]): Promise<Answer>;
}

type NoFields = Record<never, never>;

/** A command that works on the database. `run` gets the values of `fields`. */
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

/** A command whose first argument is APP. `run` gets that app and the values of `fields`. */
export function appCommand<Fields extends z.ZodRawShape = NoFields>(form: Form<Fields, [App]>): CommandForm {
  const { fields, check, run, ...words } = form;
  type Values = z.output<z.ZodObject<Fields>>;
  return databaseCommand({
    ...words,
    check: (given) => check?.(given as Values),
    fields: { app: z.string(), ...fields } as z.ZodRawShape,
    async run(context, { app, ...given }) {
      return run(context, await getApp(context.sql, app as string), given as Values);
    },
  });
}
