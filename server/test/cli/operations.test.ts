// The commands that call an operation of the console's API (`operation/cli/operations.ts`): each of them
// once, as a process, and the rules that hold for all of them.
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { certificateFile } from '../../../rig/src/certificate.ts';
import { loadInstance } from '../../src/ground/database/instance.ts';
import { hashToken } from '../../src/ground/secrets/checked-token.ts';
import { createSeal, parseMasterKey } from '../../src/ground/secrets/seal.ts';
import { addCommand } from '../../src/operation/cli/command.ts';
import { operationCommands, operationWords } from '../../src/operation/cli/operations.ts';
import { createSegment, fieldsOfSegment } from '../../src/people/segments/save-segment.ts';
import { findTokenByHash } from '../../src/teams/accounts/queries.ts';
import { findKeyByHash, listKeys } from '../../src/teams/apps/key-queries.ts';
import { createKey } from '../../src/teams/apps/manage-keys.ts';
import { unknownId } from '../setup.ts';
import { startWebhookReceiver } from '../webhook-receiver.ts';
import { refusal, setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();
const endpoint = 'https://hooks.shop.example/push';
const forms = (await Promise.all(operationWords.map(operationCommands))).flat();
const text = expect.any(String);
const matching = (pattern: RegExp) => expect.stringMatching(pattern);

/**
 * Each command with a part of its document. `$key` stands for the id of the key made last, and so
 * on.
 */
const story: readonly (readonly [command: string, document: object])[] = [
  ['app list --search Shop', { data: [{ name: 'Shop', plan: 'free' }], has_more: false, next_cursor: null }],
  ['app plan Shop pro', { name: 'Shop', plan: 'pro' }],
  ['app window Shop 48', { attribution_window_hours: 48 }],
  ['app events Shop --new-names off', { client_events: { new_names: false, purchases: true } }],
  ['app events Shop --purchases off', { client_events: { new_names: false, purchases: false } }],
  ['app events Shop', { client_events: { new_names: false, purchases: false } }],
  ['app suspend Shop', { suspended_at: text }],
  ['app resume Shop', { suspended_at: null }],
  ['key create Shop --scope client --name Till', { scope: 'client', name: 'Till', key: matching(/^ck_live_\w{49}$/) }],
  ['key list Shop --limit 2', { data: [{ name: 'Server key' }, { name: 'Client key' }], has_more: true }],
  ['key list Shop --search Ti', { data: [{ name: 'Till' }], has_more: false }],
  ['key rotate $key --overlap 1', { name: 'Till', key: text, replaces: { expires_at: text } }],
  ['key revoke $key', { name: 'Till', revoked_at: text }],
  ['channel list Shop', { data: [] }],
  ['property declare Shop plan string', { key: 'plan', type: 'string', removed: { users: 0, devices: 0 } }],
  ['property list Shop', { data: [{ key: 'plan', type: 'string', users_count: 0 }] }],
  ['property change Shop plan number', { key: 'plan', type: 'number', segments: [] }],
  ['property delete Shop plan', { key: 'plan', type: 'number' }],
  [`webhook create Shop ${endpoint} --event message.failed`, { endpoint, secret: matching(/^whsec_[\w-]{43}$/) }],
  ['webhook list Shop', { data: [{ endpoint, events: ['message.failed'] }] }],
  ['webhook disable $webhook', { state: 'disabled' }],
  ['webhook enable $webhook', { state: 'enabled' }],
  ['webhook attempts $webhook', { data: [] }],
  ['webhook rotate $webhook --dual', { rotation: { finish_at: null, dual: true }, secret: text }],
  ['webhook finish $webhook', { rotation: null }],
  [
    'webhook replay $webhook --from 2026-11-01T00:00:00Z --to 2026-11-02T00:00:00+01:00',
    { queued: 0, queued_before: 0, complete: true },
  ],
  ['webhook delete $webhook', { done: true }],
  ['identify-secret rotate Shop', { enabled: true, secrets: 1, secret: matching(/^idjwt_[\w-]{43}$/) }],
  ['identify-secret rotate Shop --form hash', { forms: ['token', 'hash'], secret: matching(/^idsec_[\w-]{43}$/) }],
  ['identify-secret finish Shop', { forms: ['hash'], secrets: 1 }],
  ['explain Shop --user u-42', { external_id: 'u-42', verdict: 'unknown_user', messages: [], devices: [] }],
  ['token create --role admin', { name: 'Script of admin', role: 'admin', token: matching(/^ot_live_\w{49}$/) }],
  ['token list', { data: [{ name: 'Script of admin', revoked_at: null }] }],
  ['token revoke $token', { revoked_at: text }],
  ['pause', { paused: true, since: text, reason: 'operator', waiting: { messages: 0, expired: 0 } }],
  ['resume', { paused: false, since: null }],
  ['app delete Shop --name Shop', { deleted: true, devices: 0, users: 0, messages: 0 }],
];

const wordsOf = (command: string): string => (/^[a-z-]+(?: [a-z-]+)?/.exec(command)?.[0] ?? '').trim();

describe('a command of the table', () => {
  it("prints its operation's answer with --json; a secret is printed once, and stored nowhere", async () => {
    await loadInstance(cli.sql, createSeal(parseMasterKey(cli.environment['MASTER_KEY'] ?? '', 'MASTER_KEY')));
    await cli.newApp('Shop');
    const ids: Record<string, string> = {};
    const secrets: string[] = [];
    for (const [command, document] of story) {
      const shown = await cli.json(...command.split(' ').map((word) => ids[word] ?? word));
      expect({ command, ...shown }).toMatchObject(document);
      if (shown.id) ids[`$${wordsOf(command).split(' ')[0]}`] = shown.id;
      secrets.push(...[shown.secret, shown.key, shown.token].filter((one) => /_(?=.{20})/.test(one ?? '')));
    }
    expect(secrets).toHaveLength(7);
    for (const secret of secrets) {
      expect(cli.printed.filter((each) => each.includes(secret))).toHaveLength(1);
      for (const table of ['keys', 'operator_tokens', 'webhooks', 'apps', 'audit_entries']) {
        const stored = await cli.sql.unsafe(`SELECT FROM ${table} each WHERE each::text LIKE '%${secret}%'`);
        expect(stored).toHaveLength(0);
      }
    }
    // Needs an endpoint that answers: below.
    const done = new Set([...story.map(([command]) => wordsOf(command)), 'webhook test']);
    expect(forms.map(({ form }) => wordsOf(form)).filter((words) => !done.has(words))).toEqual([]);
  });

  it.each(forms.map((form) => [form.form, form] as const))(
    '%s has a help, and refuses a wrong option and a missing word',
    async (name, form) => {
      const words = name.split(' ').filter((word) => /^[a-z-]+$/.test(word));
      const places = name.split(' ').slice(words.length);
      const run = async (...parameters: string[]) => {
        let help = '';
        const program = new Command().exitOverride().configureOutput({
          writeOut: (line) => (help += line),
          writeErr: () => undefined,
        });
        addCommand(program, form);
        const error = await program.parseAsync([...words, ...parameters], { from: 'user' }).catch((caught) => caught);
        return { help, message: String(error.message) };
      };
      const { help } = await run('--help');
      expect(help).toContain(`${words.at(-1)} [options]${places.map((place) => ` ${place}`).join('')}\n`);
      expect(help).toContain('--json');
      expect((await run(...places.map(() => 'x'), '--jsn')).message).toMatch(
        /unknown option '--jsn'|required option|is invalid|HOURS/,
      );
      if (places.length === 0) return;
      expect((await run()).message).toMatch(/^error: (?:missing required argument|required option) '/);
      expect((await run(...places.map(() => 'x'), 'x')).message).toMatch(
        /too many arguments|required option|is invalid|HOURS/,
      );
    },
  );

  it('prints a list as columns and everything else as lines, with what is shown once apart', async () => {
    await cli.newApp('Lines');
    const made = (await cli.run('key', 'create', 'Lines', '--scope', 'server')).stdout;
    expect(made).toMatch(
      /^id {5}key_\w+\nscope {2}server\nname {3}Server key\n\n {2}key {2}sk_live_\w{49}\n\nShown this once\.\n$/,
    );
    expect((await cli.run('key', 'list', 'Lines')).stdout).toMatch(
      /^ID +SCOPE +NAME +START .*\nkey_\w+ {2}server {2}Server key {2}sk_live_/,
    );
    expect((await cli.run('webhook', 'list', 'Lines')).stdout).toBe('There is none.\n');
    expect((await cli.run('explain', 'Lines', '--user', 'u-42')).stdout).toContain(
      'summary      There is no user u-42 in this app.\n',
    );
  });

  it.each([
    ['an unknown app', ['app', 'plan', 'Nobody', 'pro'], /No app has the id or the name 'Nobody'/],
    ['an id of another kind', ['app', 'suspend', 'key_0000000000000000000000'], /No app has/],
    ['an unknown plan', ['app', 'plan', 'Wrong', 'gold'], /There is no plan 'gold'; there are free/],
    ['hours beyond the bounds', ['app', 'window', 'Wrong', '721'], /HOURS is a whole number from 1 to 720/],
    ['neither on nor off', ['app', 'events', 'Wrong', '--purchases', 'no'], /Allowed choices are on, off/],
    ['another name typed again', ['app', 'delete', 'Wrong', '--name', 'wrong'], /name/],
    ['no scope', ['key', 'create', 'Wrong'], /required option '--scope <SCOPE>'/],
    ['an unknown scope', ['key', 'create', 'Wrong', '--scope', 'admin'], /Allowed choices are server, client/],
    ['an overlap beyond the bounds', ['key', 'rotate', unknownId('key'), '--overlap', '73'], /--overlap.*from 0 to 72/],
    ['an unknown key', ['key', 'revoke', unknownId('key')], /There is no key key_/],
    ['an unknown token', ['token', 'revoke', unknownId('tok')], /No token tok_/],
    ['an unknown webhook', ['webhook', 'enable', unknownId('whk')], /There is no webhook whk_/],
    ['an address that is not https', ['webhook', 'create', 'Wrong', 'http://hooks.shop.example/'], /https/],
    ['a private name', ['webhook', 'create', 'Wrong', 'https://intranet/'], /not a public host name/],
    ['an unknown event', ['webhook', 'create', 'Wrong', endpoint, '--event', 'message.read'], /message\.sent/],
    ['a time without an offset', ['webhook', 'rotate', 'x', '--finish-at', '2026-12-01'], /--finish-at is.*offset/],
    ['a type that there is not', ['property', 'declare', 'Wrong', 'a', 'date'], /Allowed choices are string, number/],
    ['a key that is none', ['property', 'declare', 'Wrong', 'a.b', 'string'], /begins with a letter/],
    ['an unknown property', ['property', 'delete', 'Wrong', 'gone'], /has no property 'gone'/],
    ['nothing to finish', ['identify-secret', 'finish', 'Wrong'], /No new secret is pending/],
    ['nothing to clear', ['identify-secret', 'clear', 'Wrong'], /There is no secret/],
    ['another form', ['identify-secret', 'rotate', 'Wrong', '--form', 'bound'], /--form.*token, hash/],
    ['no person', ['explain', 'Wrong'], /exactly one of --user and --device/],
    ['a person and a device', ['explain', 'Wrong', '--user', 'a', '--device', 'b'], /exactly one of/],
    ['an unknown message', ['explain', 'Wrong', '--user', 'a', '--message', unknownId('msg')], /No message msg_/],
  ])('refuses %s in one line', async (_what, parameters, line) => {
    await wrong;
    expect(await cli.run(...parameters)).toMatchObject(refusal(line));
  });

  it("a key, a token and a webhook are named by an id and never by the secret, because a shell's history would keep it", async () => {
    for (const noun of ['key revoke', 'key rotate', 'token revoke', 'webhook finish']) {
      const refused = await cli.run(...noun.split(' '), 'sk_live_never-to-be-shown');
      expect(refused).toMatchObject(refusal(/is named by its id/));
      expect(refused.stderr).not.toContain('never-to-be-shown');
    }
  });
});

describe('an app', () => {
  it('is named by its id, or by a name that only one app has', async () => {
    const [{ publicId: first }, { publicId: second }] = [await cli.newApp('Twin'), await cli.newApp('Twin')];
    expect(await cli.run('app', 'suspend', 'Twin')).toMatchObject(
      refusal(new RegExp(`2 apps are named 'Twin'.*${first}, ${second}`)),
    );
    expect(await cli.json('app', 'suspend', second)).toMatchObject({ id: second });
  });

  it('of another organisation is listed too, and its keys and webhooks obey', async () => {
    const other = '01930000-0000-7000-8000-0000000000ff';
    await cli.sql`INSERT INTO organisations (id, name) VALUES (${other}, 'Other')`;
    const { publicId, id } = await cli.newApp('Guest');
    await cli.sql`UPDATE apps SET org_id = ${other} WHERE id = ${id}`;
    expect((await cli.json('app', 'list')).data).toContainEqual(expect.objectContaining({ id: publicId }));
    const key = await cli.json('key', 'create', publicId, '--scope', 'client');
    expect((await cli.json('key', 'revoke', key.id)).revoked_at).not.toBeNull();
    const hook = await cli.json('webhook', 'create', publicId, endpoint);
    expect(await cli.json('webhook', 'disable', hook.id)).toMatchObject({ state: 'disabled' });
    expect(await cli.json('app', 'plan', publicId, 'pro')).toMatchObject({ plan: 'pro' });
  });
});

describe('key and token', () => {
  const works = async (key: string): Promise<boolean> =>
    (await findKeyByHash(cli.sql, cli.clock, hashToken(key))) !== undefined;

  it('work from their creation to their end', async () => {
    await cli.newApp('Ends');
    const { id, key } = await cli.json('key', 'create', 'Ends', '--scope', 'server');
    const rotated = await cli.json('key', 'rotate', id);
    expect(Date.parse(rotated.replaces.expires_at) - cli.clock.nowMs()).toBeGreaterThan(23.9 * 3_600_000);
    expect([await works(key), await works(rotated.key)]).toEqual([true, true]);
    const sooner = await cli.json('key', 'rotate', id, '--overlap', '1');
    const later = await cli.json('key', 'rotate', id, '--overlap', '72');
    expect(later.replaces.expires_at).toBe(sooner.replaces.expires_at);
    const last = await cli.json('key', 'rotate', rotated.id, '--overlap', '0');
    expect([await works(rotated.key), await works(last.key)]).toEqual([false, true]);
    expect(await cli.run('key', 'rotate', rotated.id)).toMatchObject(refusal(/has ended already/));
    const ended = await cli.json('key', 'revoke', last.id);
    expect(await works(last.key)).toBe(false);
    expect(await cli.json('key', 'revoke', last.id)).toEqual(ended);

    const made = await cli.json('token', 'create', '--role', 'owner', '--name', 'Terraform');
    expect(await findTokenByHash(cli.sql, hashToken(made.token))).toMatchObject({ name: 'Terraform' });
    await cli.json('token', 'revoke', made.id);
    expect(await findTokenByHash(cli.sql, hashToken(made.token))).toBeUndefined();
  });
});

describe('limits', () => {
  it('are 20 active keys of each scope, also when creations race; a rotation without an overlap finds room', async () => {
    const { id: appId } = await cli.newApp('Full');
    const racing = Array.from({ length: 30 }, (_, i) => createKey(cli, { appId, scope: 'server', name: `Key ${i}` }));
    const outcomes = await Promise.allSettled(racing);
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(19);
    const [first] = (await cli.json('key', 'list', 'Full', '--search', 'Server')).data;
    const before = await listKeys(cli.sql, appId);
    expect(await cli.run('key', 'rotate', first.id)).toMatchObject(refusal(/at most 20 active server keys/));
    expect(await listKeys(cli.sql, appId)).toEqual(before);
    await cli.json('key', 'rotate', first.id, '--overlap', '0');
    await cli.json('key', 'create', 'Full', '--scope', 'client');
  });

  it('are 10 webhooks of an app', async () => {
    const { publicId, id } = await cli.newApp('Many');
    await cli.sql`
      INSERT INTO webhooks (app_id, id, endpoint, secret, created_at)
      SELECT ${id}, md5(n::text)::uuid, ${endpoint}, 'x', now() FROM generate_series(1, 10) n`;
    expect(await cli.run('webhook', 'create', publicId, endpoint)).toMatchObject(refusal(/at most 10 webhooks/));
  });
});

describe('webhook', () => {
  it("test prints the endpoint's answer, and ends with 1 when it did not acknowledge", async () => {
    const { publicId } = await cli.newApp('Testing');
    const receiver = await startWebhookReceiver();
    const carillon = (...parameters: string[]) =>
      cli.runWith(
        {
          OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
          OUTBOUND_ALLOW_PORTS: '1024-65535',
          OUTBOUND_CA_FILE: certificateFile,
        },
        ...parameters,
      );
    const { json } = await carillon('webhook', 'create', publicId, receiver.endpoint, '--json');
    const fine = await carillon('webhook', 'test', json.id, '--json');
    expect(fine).toMatchObject({ status: 0, json: { status_code: 200, error: null } });
    receiver.answer = (_request, response) => response.writeHead(404).end();
    expect(await carillon('webhook', 'test', json.id)).toMatchObject({
      status: 1,
      stdout: matching(/^status code {2}404$/m),
      stderr: 'carillon: The endpoint did not acknowledge: http_status.\n',
    });
  });

  it('replay refuses a disabled webhook, other events, and an end before the beginning', async () => {
    const { publicId } = await cli.newApp('Replaying');
    const { id } = await cli.json('webhook', 'create', publicId, endpoint, '--event', 'message.sent');
    const replay = (from: string, to: string, ...more: string[]) =>
      cli.run('webhook', 'replay', id, '--from', from, '--to', to, ...more);
    const [one, two] = ['2026-11-01T00:00:00Z', '2026-11-02T00:00:00Z'];
    expect(await replay(two, one)).toMatchObject(refusal(/--from must be before to/));
    expect(await replay(one, two, '--event', 'message.clicked')).toMatchObject(refusal(/is told of message.sent only/));
    await cli.json('webhook', 'disable', id);
    expect(await replay(one, two)).toMatchObject(refusal(/enable it first/));
  });
});

describe('identify-secret', () => {
  it('rotate says which proof is needed, and when it replaces a secret whose rotation was not finished', async () => {
    const { publicId } = await cli.newApp('Hasty');
    const rotate = (...more: string[]) => cli.run('identify-secret', 'rotate', publicId, ...more);
    expect((await rotate('--form', 'hash')).stdout).toContain('From now on identify needs a user_hash made with it.');
    expect((await rotate()).stdout).toContain(`valid beside it until: ./carillon identify-secret finish ${publicId}`);
    expect((await rotate()).stdout).toContain('the place of the one from the rotation before');
  });

  it('--require-device accepts only tokens that name it, and clear removes all secrets', async () => {
    const { publicId } = await cli.newApp('Strict');
    const rotate = ['identify-secret', 'rotate', publicId, '--require-device'];
    expect(await cli.json(...rotate, 'on')).toMatchObject({ require_device: true, forms: ['token'] });
    const off = await cli.json(...rotate, 'off', '--form', 'hash');
    expect(off).toMatchObject({ require_device: false, forms: ['token', 'hash'] });
    await cli.json('identify-secret', 'finish', publicId);
    expect(await cli.run(...rotate, 'on', '--form', 'hash')).toMatchObject(refusal(/needs a token secret/));
    expect(await cli.json('identify-secret', 'clear', publicId)).toMatchObject({ enabled: false, secrets: 0 });
  });
});

it('property change names a few of many segments that use the key, and all of them with --json', async () => {
  const { publicId, id } = await cli.newApp('Segmented');
  await cli.json('property', 'declare', publicId, 'plan', 'string');
  const filter = { field: 'properties.plan', op: 'exists' };
  for (let n = 10; n < 31; n++) {
    await createSegment(cli, id, fieldsOfSegment({ name: `Segment ${n}`, description: null, filter }));
  }
  const { stdout } = await cli.run('property', 'change', publicId, 'plan', 'number');
  expect(stdout).toMatch(/segments:\n[\s\S]*Segment 29\nand 1 more\n$/);
  expect((await cli.json('property', 'delete', publicId, 'plan')).segments).toHaveLength(21);
});

const wrong = cli.newApp('Wrong');
