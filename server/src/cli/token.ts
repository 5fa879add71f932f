// `token …`: operator tokens, with which scripts use the console's API. A token is printed once, by
// the command that makes it.
import { type Command, Option } from 'commander';
import { createToken, revokeToken } from '../accounts/operator-tokens.ts';
import { type Role, roles } from '../accounts/roles.ts';
import { type ListedToken, listTokens } from '../accounts/token-queries.ts';
import { findNameIssue } from '../apps/create-app.ts';
import { firstOrganisationId } from '../apps/queries.ts';
import { decodeId, encodeId } from '../ground/ids.ts';
import { programName } from '../ground/program-name.ts';
import { invalid } from '../http/api-error.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { type Answer, type AnswerOptions, answer, printable, table, withJson } from './answer.ts';
import { CommandError } from './command-error.ts';
import { withDatabase } from './context.ts';

export function addTokenCommands(program: Command): void {
  const token = program.command('token').description("operator tokens, for scripts that use the console's API");
  withJson(token.command('create'))
    .description('make a token')
    .addOption(new Option('--role <ROLE>', 'what it may do').choices([...roles]).makeOptionMandatory())
    .option('--name <NAME>', 'for people')
    .action((options: AnswerOptions & { role: Role; name?: string }) =>
      answer(options, () => create(options.role, options.name)),
    );
  withJson(token.command('list'))
    .description('list the tokens, revoked ones too')
    .action((options: AnswerOptions) => answer(options, list));
  withJson(token.command('revoke <TOKEN>'))
    .description('end a token now')
    .action((id: string, options: AnswerOptions) => answer(options, () => revoke(id)));
}

async function create(role: Role, given: string | undefined): Promise<Answer> {
  const name = given ?? `Script of ${role}`;
  const issue = findNameIssue(name);
  if (issue) throw invalid([issue]);
  return withDatabase(loadCommandConfig(), async (context) => {
    const made = await createToken(context, { organisationId: firstOrganisationId, name, role });
    const { token, text } = made;
    return {
      document: { ...present(token), token: text },
      text: `${printable(name)}  ${encodeId('tok', token.id)}  ${role}\n\n  ${text}\n\nThe token is shown this once.`,
    };
  });
}

async function list(): Promise<Answer> {
  return withDatabase(loadCommandConfig(), async ({ sql }) => {
    const tokens = await listTokens(sql, firstOrganisationId);
    const rows = tokens.map((token) => [
      encodeId('tok', token.id),
      token.role,
      token.name,
      `${token.start}…${token.last4}`,
      stateOf(token),
      token.createdAt.toISOString(),
      token.lastUsedAt?.toISOString() ?? 'never',
    ]);
    const headings = ['ID', 'ROLE', 'NAME', 'TOKEN', 'STATE', 'CREATED', 'LAST USED'];
    return {
      document: { tokens: tokens.map(present) },
      text: tokens.length === 0 ? 'There is no operator token.' : table(headings, rows),
    };
  });
}

function stateOf({ revokedAt, isOrphaned }: ListedToken): string {
  if (revokedAt) return `revoked ${revokedAt.toISOString()}`;
  return isOrphaned ? 'active, its maker is no owner any more' : 'active';
}

// Accepts a token's id only, never the token itself, because a command line stays in the shell's
// history and is seen by `ps`.
async function revoke(text: string): Promise<Answer> {
  const id = decodeId('tok', text);
  return withDatabase(loadCommandConfig(), async (context) => {
    const token = id && (await revokeToken(context, { organisationId: firstOrganisationId, id }));
    if (!token) {
      throw new CommandError(`There is no token '${printable(text)}'; see their ids with: ${programName} token list`);
    }
    return { document: present(token), text: `${text} was revoked at ${token.revokedAt?.toISOString() ?? ''}.` };
  });
}

function present(token: ListedToken): Record<string, unknown> {
  return {
    id: encodeId('tok', token.id),
    name: token.name,
    role: token.role,
    start: token.start,
    last4: token.last4,
    created_at: token.createdAt,
    created_by: token.createdBy,
    last_used_at: token.lastUsedAt,
    revoked_at: token.revokedAt,
    is_orphaned: token.isOrphaned,
  };
}
