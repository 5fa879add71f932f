// `property …`: the catalog of an app. Deleting a key or changing its type removes the key's
// values. Both commands report the number of these values and the segments that use the key.
import type { Command } from 'commander';
import { transaction } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import {
  changePropertyType,
  countHeldValues,
  declareProperty,
  type EditedProperty,
  type HeldValues,
  PropertyEditError,
  retireProperty,
} from '../properties/edit-property.ts';
import { listCatalog } from '../properties/list-catalog.ts';
import { type PropertyType, propertyTypes } from '../properties/property.ts';
import type { CatalogRow } from '../properties/queries.ts';
import { slotColumn } from '../properties/slots.ts';
import { listSegmentsNaming } from '../segments/queries.ts';
import { type Answer, type AnswerOptions, answer, printable, table, withJson } from './answer.ts';
import { CommandError } from './command-error.ts';
import { type CommandContext, withDatabase } from './context.ts';
import { getApp } from './find-app.ts';

export function addPropertyCommands(program: Command): void {
  const property = program.command('property').description('the keys that an app knows, and their types');
  withJson(property.command('list <APP>'))
    .description('list the catalog')
    .action((name: string, options: AnswerOptions) => answer(options, () => list(name)));
  withJson(property.command('declare <APP> <KEY> <TYPE>'))
    .description(`register a key before its first value: ${propertyTypes.join(', ')}`)
    .action((name: string, key: string, type: string, options: AnswerOptions) =>
      answer(options, () => edit(name, key, (deps) => declareProperty(deps, key, readType(type)))),
    );
  withJson(property.command('change <APP> <KEY> <TYPE>'))
    .description('give a key another type; values of the former one are no longer seen')
    .action((name: string, key: string, type: string, options: AnswerOptions) =>
      answer(options, () => edit(name, key, (deps, held) => changePropertyType(deps, key, readType(type), held))),
    );
  withJson(property.command('delete <APP> <KEY>'))
    .description('delete a key from the catalog, with its values')
    .action((name: string, key: string, options: AnswerOptions) =>
      answer(options, () => edit(name, key, (deps, held) => retireProperty(deps, key, held))),
    );
}

function readType(text: string): PropertyType {
  const type = propertyTypes.find((each) => each === text);
  if (type) return type;
  throw new CommandError(`There is no type '${printable(text)}'; there are ${propertyTypes.join(', ')}`);
}

const pageRows = 1_000;

async function list(name: string): Promise<Answer> {
  return withDatabase(loadCommandConfig(), async ({ sql }) => {
    const app = await getApp(sql, name);
    const { rows, indexedColumns } = await listCatalog(sql, app.id, null, pageRows);
    const shown = rows.map((row) => [
      row.key,
      row.type,
      String(row.usersCount),
      String(row.conflictsCount),
      row.slot === null ? '-' : slotColumn(row.type, row.slot),
      isIndexed(row, indexedColumns) ? 'yes' : 'no',
      row.lastSeenAt?.toISOString() ?? 'never',
    ]);
    const headings = ['KEY', 'TYPE', 'USERS', 'CONFLICTS', 'SLOT', 'INDEXED', 'SEEN'];
    return {
      document: { properties: rows.map((row) => present(row, isIndexed(row, indexedColumns))) },
      text: rows.length === 0 ? 'There is no property yet.' : table(headings, shown),
    };
  });
}

function isIndexed({ type, slot }: CatalogRow, columns: ReadonlySet<string>): boolean {
  return slot !== null && columns.has(slotColumn(type, slot));
}

function present(row: CatalogRow, indexed: boolean): object {
  return {
    key: row.key,
    type: row.type,
    slot: row.slot === null ? null : slotColumn(row.type, row.slot),
    indexed,
    users_count: row.usersCount,
    samples: row.samples,
    conflicts_count: row.conflictsCount,
    last_conflict_at: row.lastConflictAt,
    first_seen_at: row.firstSeenAt,
    last_seen_at: row.lastSeenAt,
  };
}

type Deps = Parameters<typeof retireProperty>[0];

type Edit = (deps: Deps, held: HeldValues) => Promise<EditedProperty>;

async function edit(name: string, key: string, work: Edit): Promise<Answer> {
  return withDatabase(loadCommandConfig(), async (context) => {
    const app = await getApp(context.sql, name);
    const held = await countHeldValues(context.sql, app.id, key);
    const edited = await editOrSay(context, app.id, (deps) => work(deps, held));
    const segments = (await listSegmentsNaming(context.sql, app.id, [edited.key])).map((segment) => segment.name);
    const { users, devices } = edited.removed;
    const lines = [
      `${edited.key}  ${edited.type}`,
      ...(users + devices > 0 ? [`Values no longer seen: ${users} of users, ${devices} of devices.`] : []),
      ...(segments.length > 0 ? [`Segments that use it: ${someOf(segments)}.`] : []),
    ];
    return {
      document: { key: edited.key, type: edited.type, removed: edited.removed, segments },
      text: lines.join('\n'),
    };
  });
}

/**
 * The number of segments shown to a person. An app may have a thousand segments; the JSON lists
 * them all.
 */
const segmentsShown = 20;

function someOf(segments: readonly string[]): string {
  const shown = segments.slice(0, segmentsShown).map(printable).join(', ');
  const more = segments.length - segmentsShown;
  return more > 0 ? `${shown} and ${more} more` : shown;
}

async function editOrSay(
  { sql, clock, by }: CommandContext,
  appId: Uuid,
  work: (deps: Deps) => Promise<EditedProperty>,
): Promise<EditedProperty> {
  try {
    return await transaction(sql, (tx) => work({ tx, clock, by, appId }));
  } catch (error) {
    if (error instanceof PropertyEditError) throw new CommandError(error.message);
    throw error;
  }
}
