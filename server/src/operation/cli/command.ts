// The one form of a command: its words, what it takes as a schema, and its work. From the schema
// come the options, their choices and bounds, what is required, and the words of a refusal.
import { readFileSync } from 'node:fs';
import { Argument, type Command, Option } from 'commander';
import { z } from 'zod';
import { ApiError } from '../../ground/http/api-error.ts';
import { validate } from '../../ground/http/validate.ts';
import { instantForm, parseInstant } from '../../ground/values/instant.ts';
import { type Answer, type AnswerOptions, answer, CommandError } from './answer.ts';
import { printable } from './render.ts';

export interface CommandForm<Input extends z.ZodObject = z.ZodObject> {
  /** Its words: `key rotate <KEY>`. The caller gives those in brackets; `[APP]` may be left out. */
  readonly form: string;
  readonly help: string;
  /** A field is the word of the form that has its name in capitals, or else an option. */
  readonly input: Input;
  /**
   * How a field is written where its name does not say it, and after two spaces its help:
   * `--overlap <HOURS>  how long the old one goes on`, `<URL>`.
   */
  readonly writes?: Readonly<Record<string, string>>;
  /** `given`: the input as the caller wrote it, without defaults. */
  run(input: z.output<Input>, given: Given): Promise<Answer | undefined>;
}

/** The values that a caller gave, by the names of their fields. */
export type Given = Readonly<Record<string, unknown>>;

/** A field that is the content of the file whose name the caller gives. */
export const fileText = z.string().meta({ isFile: true });
/** A switch: `--dry-run`. */
export const flag = z.boolean().default(false);
/** A whole number within bounds. */
export const wholeBetween = (least: number, most: number): z.ZodInt => z.int().min(least).max(most);

/** The instant of a field; null when the field was left out. */
export const dateOf = (text: string | undefined): Date | null => (text === undefined ? null : new Date(text));

/** Checks the types of a form's input and work against each other. */
export function command<Input extends z.ZodObject>(form: CommandForm<Input>): CommandForm {
  return form as unknown as CommandForm;
}

/** The part of a JSON Schema that decides how a field is written. */
interface Shape {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly isFile?: boolean;
  readonly items?: Shape;
  readonly anyOf?: readonly Shape[];
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
}

interface Field {
  /** Its path in the input: `client_events.new_names`. */
  readonly name: string;
  readonly shape: Shape;
  readonly isRequired: boolean;
  /** How the caller writes it: `--overlap <HOURS>`, or `<KEY>`. */
  readonly how: string;
  readonly help: string;
}

/** Adds a command to the program, and its group where that is new. */
export function addCommand(program: Command, form: CommandForm, groupHelp = ''): void {
  const words = form.form.split(' ').filter((word) => /^[a-z-]+$/.test(word));
  const places = form.form.split(' ').slice(words.length);
  const group = words.length > 1 ? groupOf(program, words[0] ?? '', groupHelp) : program;
  const self = group.command(words.at(-1) ?? '').description(form.help);
  const fields = fieldsOf(form, places);
  const placed = places.map((place) => {
    const field = fields.find(({ how }) => how.slice(1, -1) === place.slice(1, -1));
    if (!field) throw new Error(`${form.form}: no field is ${place}`);
    self.addArgument(readAs(new Argument(place, field.help), field));
    return field;
  });
  const options = fields
    .filter((field) => !placed.includes(field))
    .map((field) => {
      const option = readAs(new Option(field.how, field.help), field).makeOptionMandatory(field.isRequired);
      if (field.shape.default !== undefined && !isSwitch(field.shape)) option.default(field.shape.default);
      self.addOption(option);
      return { field, key: option.attributeName() };
    });
  self.option('--json', 'print one JSON document').action(async (...all: unknown[]) => {
    const chosen = all[placed.length] as AnswerOptions & Record<string, unknown>;
    const input: Record<string, unknown> = {};
    for (const [i, { name }] of placed.entries()) put(input, name, all[i]);
    for (const { field, key } of options) put(input, field.name, chosen[key]);
    await namingFields(fields, async () => {
      const done = await form.run(validate(form.input, input), input);
      if (done) await answer(chosen, done);
    });
  });
}

function groupOf(program: Command, word: string, help: string): Command {
  const known = program.commands.find((each) => each.name() === word);
  return known ?? program.command(word).description(help);
}

function fieldsOf({ input, writes = {} }: CommandForm, places: readonly string[]): Field[] {
  const root = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' }) as Shape;
  const walk = ({ properties = {}, required = [] }: Shape, before: string): Field[] =>
    Object.entries(properties).flatMap(([key, stated]) => {
      const shape = stated.anyOf ? { ...stated, ...stated.anyOf[0] } : stated;
      const name = before + key;
      if (shape.properties) return walk(shape, `${name}.`);
      const [how = '', help = shape.description ?? ''] = (writes[name] ?? '').split(/ {2,}/);
      const place = places.find((each) => each.slice(1, -1) === key.toUpperCase());
      const value = shape.type === 'boolean' ? 'on|off' : shape.format === 'date-time' ? 'TIME' : key.toUpperCase();
      const usual = place ?? `--${key.replaceAll('_', '-')}${isSwitch(shape) ? '' : ` <${value}>`}`;
      return [{ name, shape, isRequired: required.includes(key), how: how === '' ? usual : how, help }];
    });
  return walk(root, '');
}

function isSwitch({ type, default: otherwise }: Shape): boolean {
  return type === 'boolean' && otherwise === false;
}

/** Gives an argument or an option the choices and the reader of its field. */
function readAs<Part extends Argument | Option>(part: Part, { shape, how }: Field): Part {
  const name = nameOf(how);
  if (isSwitch(shape)) return part;
  if (shape.items) {
    const choices = shape.items.enum;
    if (choices) part.choices(choices);
    const check = choices ? part.parseArg : undefined;
    const read = (text: string, before: unknown): unknown[] => {
      check?.(text, undefined);
      return [...(Array.isArray(before) ? before : []), text];
    };
    return part.argParser(read) as Part;
  }
  if (shape.enum) return part.choices(shape.enum) as Part;
  if (shape.type === 'boolean') {
    const check = part.choices(['on', 'off']).parseArg;
    return part.argParser((text: string) => check?.(text, undefined) === 'on') as Part;
  }
  if (shape.type === 'integer') return part.argParser(wholeNumber(name, shape.minimum, shape.maximum)) as Part;
  if (shape.format === 'date-time') return part.argParser((text) => readTime(name, text)) as Part;
  if (shape.isFile) return part.argParser((file) => readText(name, file)) as Part;
  return part;
}

/** Returns a reader of whole numbers. For any other text it throws a `CommandError` that names the option. */
export function wholeNumber(name: string, least = 0, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new CommandError(`${name} is a whole number from ${least} to ${most}, not '${text}'`);
  };
}

/** Reads an instant in the form that the API takes: ISO 8601 with an offset. */
function readTime(name: string, text: string): string {
  const instant = parseInstant(text);
  if (instant) return new Date(instant.ms).toISOString();
  throw new CommandError(`${name} is ${instantForm}, not '${printable(text)}'`);
}

/** Reads a file, such as a private key. Never shows its content. */
function readText(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CommandError(`${name} ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

function put(input: Record<string, unknown>, path: string, value: unknown): void {
  if (value === undefined) return;
  const [first = '', ...rest] = path.split('.');
  if (rest.length === 0) {
    input[first] = value;
    return;
  }
  const inner: Record<string, unknown> = { ...(input[first] as object | undefined) };
  put(inner, rest.join('.'), value);
  input[first] = inner;
}

function nameIn(fields: readonly Field[], field: string): string | undefined {
  const how = fields.find(({ name }) => name === field)?.how;
  return how && nameOf(how);
}

/** `--overlap` of `--overlap <HOURS>`, and `KEY` of `<KEY>`. */
function nameOf(how: string): string {
  return how.replace(/ ?[<[].*/, '') || how.slice(1, -1);
}

/** Runs `work`. A 400 that it throws names its fields as the caller writes them. */
async function namingFields(fields: readonly Field[], work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ApiError) || error.details.issues === undefined) throw error;
    const told = error.details.issues.map(({ path, message }) => {
      const [first = '', ...rest] = path.map(String);
      const whole = nameIn(fields, first);
      const name = nameIn(fields, path.join('.')) ?? (whole ? [whole, ...rest].join(' ') : path.join('.'));
      if (message.startsWith('It ')) return `${name}: ${message}`;
      // A word such as `name` is no field where it stands in the middle of a sentence.
      const begun = message.startsWith(`${path.join('.')} `) ? message.replace(path.join('.'), name) : message;
      return begun.replaceAll(/\b[a-z]+_[a-z_]+\b/g, (field) => nameIn(fields, field) ?? field);
    });
    throw new CommandError(printable(told.join(' ')));
  }
}
