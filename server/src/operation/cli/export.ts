// `export`: writes an app's data as a stream. The data of one user is one JSON document. The data
// of all users is written as rows, to a pipe or into a file. The same command continues an
// interrupted file.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { writePerson } from '../../console/operations/person-document.ts';
import { decodeId } from '../../ground/values/ids.ts';
import { findPersonId } from '../../people/users/queries.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { answer, CommandError } from './answer.ts';
import { withDatabase } from './context.ts';
import { openTable, tableNames } from './export-tables.ts';
import { getApp } from './find-app.ts';
import { untilReaderIsGone, writeText } from './output-stream.ts';
import { writeTable } from './part-file.ts';
import { printable } from './render.ts';
import { formatNames, rowFormat } from './row-format.ts';

interface RowOptions {
  readonly json?: boolean;
  readonly format: string;
  readonly message?: string;
  readonly output?: string;
}

export function addCommands(program: Command): void {
  const exporting = program
    .command('export')
    .usage(`user <APP> <EXTERNAL_ID>, or <APP> ${tableNames.join('|')} [--format F] [--message ID] [--output FILE]`)
    .description(`write what is held: of one user, or an app's ${tableNames.join(', ')}`);
  exporting
    .command('rows <APP> <WHAT>', { isDefault: true, hidden: true })
    .description(`${tableNames.join(', ')}: a row each, on standard output or into a file`)
    .option('--format <FORMAT>', `${formatNames.join(' or ')}`, formatNames[0])
    .option('--message <ID>', 'deliveries of this message alone')
    .option('--output <FILE>', 'write a file; the same command continues an interrupted file')
    .option('--json', 'print one JSON document')
    .action((app: string, what: string, options: RowOptions) => exportRows(app, what, options));
  exporting
    .command('user <APP> <EXTERNAL_ID>')
    .description('all that is held of one user, as one JSON document')
    .option('--json', 'print one JSON document')
    .action((app: string, externalId: string) => untilReaderIsGone(() => exportUser(app, externalId)));
}

async function exportRows(appName: string, what: string, options: RowOptions): Promise<void> {
  const name = oneOf(tableNames, what, 'There is no table');
  const formatName = oneOf(formatNames, options.format, 'There is no format');
  if (options.message !== undefined && name !== 'deliveries')
    throw new CommandError('--message can be used with deliveries only.');
  const { output } = options;
  if (options.json && output === undefined)
    throw new CommandError('--json describes the written file, so it needs --output.');
  await withDatabase(loadCommandConfig(), async ({ sql, clock }) => {
    const app = await getApp(sql, appName);
    const messageId = options.message === undefined ? null : decodeId('msg', options.message);
    if (messageId === undefined) throw new CommandError('There is no such message in this app.');
    const table = await openTable(name, { sql, clock, appId: app.id, messageId });
    const format = rowFormat(formatName, table);
    if (output === undefined) {
      await untilReaderIsGone(async () => {
        await writeText(process.stdout, format.head);
        for await (const rows of table.pages(null)) await writeText(process.stdout, rows.map(format.write).join(''));
      });
      return;
    }
    const written = await writeTable(resolve(output), table, format);
    const went = written.resumed ? ', after the rows that were there' : '';
    await answer(options, { document: written, text: `${written.file}  ${written.rows} ${name}${went}` });
  });
}

function oneOf<Name extends string>(names: readonly Name[], given: string, otherwise: string): Name {
  const name = names.find((each) => each === given);
  if (name !== undefined) return name;
  throw new CommandError(`${otherwise} '${printable(given)}'; there are ${names.join(', ')}`);
}

async function exportUser(name: string, externalId: string): Promise<void> {
  await withDatabase(loadCommandConfig(), async (context) => {
    const { sql, clock } = context;
    const app = await getApp(sql, name);
    const userId = await findPersonId(sql, app.id, externalId);
    if (userId === undefined) throw new CommandError(`There is no user '${printable(externalId)}' in this app.`);
    const person = { appId: app.id, externalId, userId };
    for await (const text of writePerson({ sql, clock }, person)) await writeText(process.stdout, text);
  });
}
