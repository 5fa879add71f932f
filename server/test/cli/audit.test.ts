// The audit log: every change by the command line stands in it, beside who made it, and no secret ever does.

import { userInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import { setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();
const me = { kind: 'cli', id: null, name: userInfo().username };

interface Shown {
  readonly action: string;
  readonly target: string | null;
}

const entriesOf = async (app: string): Promise<Shown[]> => (await cli.json('audit', app)).entries;

describe('audit', () => {
  it('says who changed what of an app, newest first, with the fields that changed', async () => {
    const { publicId: id } = await cli.newApp('Told');
    await cli.run('app', 'plan', id, 'pro');
    await cli.run('app', 'window', id, '48');
    await cli.run('app', 'suspend', id);
    await cli.run('app', 'resume', id);
    const common = { actor: me, address: null, app_id: id, target: id, at: expect.stringMatching(/Z$/) };
    const { entries } = await cli.json('audit', id);
    expect(entries.slice(0, 4)).toEqual([
      { ...common, action: 'app.resume', before: null, after: null },
      { ...common, action: 'app.suspend', before: null, after: null },
      { ...common, action: 'app.window', before: { window_hours: 24 }, after: { window_hours: 48 } },
      { ...common, action: 'app.plan', before: { plan: 'free' }, after: { plan: 'pro' } },
    ]);
  });

  it('records nothing for a command that changed nothing', async () => {
    const { publicId: id } = await cli.newApp('Still');
    await cli.run('app', 'suspend', id);
    const before = await entriesOf(id);
    await cli.run('app', 'suspend', id);
    await cli.run('app', 'plan', id, 'free');
    await cli.run('app', 'window', id, '24');
    expect(await entriesOf(id)).toEqual(before);
  });
});
