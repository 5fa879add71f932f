import { describe, expect, it } from 'vitest';
import { encodeId, mintUuid } from '../values/ids.ts';
import { createLog, plainLog } from './log.ts';

function setup() {
  const lines: string[] = [];
  const log = createLog('info', 'test', { write: (line) => void lines.push(line) });
  return { log, lines, last: () => JSON.parse(lines.at(-1) ?? '') };
}

describe('R-80 a line of the log', () => {
  it.each(['authorization', 'secret', 'token'])('has no %s', (field) => {
    const { log, lines, last } = setup();
    log.info({ [field]: 'hush' }, 'at the top');
    expect(last()).toMatchObject({ [field]: '[redacted]' });
    log.info({ caller: { [field]: 'hush', name: 'Ada' } }, 'one level below');
    expect(last()).toMatchObject({ caller: { [field]: '[redacted]', name: 'Ada' } });
    expect(lines.join('')).not.toContain('hush');
  });

  it('does not quote the row that a database error is about', () => {
    const { log, lines, last } = setup();
    const error = Object.assign(new Error('duplicate key'), { detail: 'Key (token)=(hush)', where: 'COPY hush' });
    log.error({ err: error }, 'refused');
    expect(last().err).toMatchObject({ message: 'duplicate key', detail: '[redacted]', where: '[redacted]' });
    expect(lines.join('')).not.toContain('hush');
  });
});

describe('R-81 a line of the log', () => {
  it('remains one line of JSON with a line break or an escape in a field', () => {
    const { log, lines, last } = setup();
    const reason = 'gone\r\n{"level":60}\u001b[31m';
    log.info({ reason }, 'refused');
    expect(lines).toHaveLength(1);
    expect(lines[0]?.trimEnd()).not.toMatch(/\p{Cc}/u);
    expect(last()).toMatchObject({ reason });
  });
});

describe('R-82 a log of many lines', () => {
  it('has its ids on each of them, in the form that callers know', () => {
    const { log, last } = setup();
    const [app, message, device] = [mintUuid(), mintUuid(), mintUuid()];
    const many = plainLog(log, { app_id: app, message_id: message });
    many.info({ device_id: device, attempts: 1 }, 'delivery failed');
    expect(last()).toMatchObject({
      role: 'test',
      app_id: encodeId('app', app),
      message_id: encodeId('msg', message),
      device_id: encodeId('dev', device),
      attempts: 1,
    });
  });
});
