// `explain`: why a person or a device got a message or not, in words.
import type { Command } from 'commander';
import { meaningOf } from '../delivery/code-meaning.ts';
import { type ExplainedOne, explainMessage } from '../explain/explain-message.ts';
import { presentExplanation } from '../explain/routes.ts';
import { encodeId } from '../ground/ids.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { type Answer, type AnswerOptions, answer, printable, table, withJson } from './answer.ts';
import { CommandError } from './command-error.ts';
import { withDatabase } from './context.ts';
import { getApp } from './find-app.ts';

interface ExplainOptions extends AnswerOptions {
  readonly app: string;
  readonly message?: string;
  readonly user?: string;
  readonly device?: string;
}

export function addExplainCommand(program: Command): void {
  withJson(program.command('explain'))
    .description('say why a person, or a device, got a message or not')
    .requiredOption('--app <APP>', 'the app')
    .option('--message <ID>', 'the message; without it the newest 20 of the last 30 days')
    .option('--user <EXTERNAL_ID>', 'the person')
    .option('--device <ID>', 'the device')
    .action((options: ExplainOptions) => answer(options, () => explain(options)));
}

async function explain({ app: name, message, user, device }: ExplainOptions): Promise<Answer> {
  if ((user === undefined) === (device === undefined))
    throw new CommandError('Give either --user or --device, not both');
  const subject = user === undefined ? { deviceId: device ?? '' } : { externalId: user };
  return withDatabase(loadCommandConfig(), async ({ sql, clock }) => {
    const app = await getApp(sql, name);
    const question = { appId: app.id, messageId: message ?? null, subject };
    const explained = await explainMessage({ sql, clock }, question);
    const { verdict, summary, ...rest } = presentExplanation(explained);
    const [one] = explained.messages;
    const details = explained.isOfOne && one ? describeOne(one) : explained.messages.map(describeInList);
    const text = [`${verdict}: ${printable(summary)}`, ...details].join('\n');
    const named = { message_id: message ?? null, external_id: user ?? null, device_id: device ?? null };
    return { document: { ...named, verdict, summary, ...rest }, text };
  });
}

function describeOne({ steps, cases }: ExplainedOne): string[] {
  const lines = steps.map(({ step, ok }) => `  ${ok ? 'yes' : 'NO '}  ${step}`);
  const rows = cases.map(({ device, verdict, errorCode, attempts }) => [
    encodeId('dev', device.id),
    device.platform,
    device.status,
    verdict,
    String(attempts),
    errorCode === null ? '' : `${errorCode}: ${meaningOf(errorCode).meaning}`,
  ]);
  const devices = table(['DEVICE', 'PLATFORM', 'NOW', 'VERDICT', 'ATTEMPTS', 'CODE'], rows);
  return ['', ...lines, ...(rows.length === 0 ? [] : ['', devices])];
}

function describeInList({ message, verdict, summary }: ExplainedOne): string {
  return `  ${encodeId('msg', message.id)}  ${verdict}: ${printable(summary)}`;
}
