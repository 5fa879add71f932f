// Judges messages that were requested repeatedly with an Idempotency-Key: each exists once, was
// charged once, and each device got one push.
import type { MadeDevice } from '../../rig/src/mixed-app.ts';
import type { Stage } from './stage.ts';

export interface Asked {
  readonly idempotencyKey: string;
  readonly title: string;
  readonly devices: readonly MadeDevice[];
  /** The id in the last answer to the request. */
  readonly id: string;
}

/** Longer than a lease, and longer than the least delay of a scheduled message. */
const quietWithinMs = 120_000;

/** Ends the sandbox. Returns complaints. */
export async function judgeSentOnce(stage: Stage, asked: readonly Asked[]): Promise<string[]> {
  const complaints: string[] = [];
  if (!(await stage.isQuiet(quietWithinMs))) complaints.push('messages are still under way');
  for (const { idempotencyKey, id } of asked) {
    const ids = await stage.messagesOf(idempotencyKey);
    if (ids.length !== 1 || ids[0] !== id) {
      complaints.push(`${idempotencyKey}: the answer said ${id}, there is ${ids.join(', ') || 'none'}`);
    }
  }
  const charged = await stage.charged();
  const due = asked.reduce((total, { devices }) => total + devices.length, 0);
  if (charged !== due) complaints.push(`${charged} deliveries were charged, and ${due} asked for`);
  const pushes = await stage.countPushes();
  for (const { title, devices } of asked) {
    const wrong = devices.filter(({ token }) => pushes.get(`${title} ${token}`) !== 1);
    const [first] = wrong;
    if (first === undefined) continue;
    const times = pushes.get(`${title} ${first.token}`) ?? 0;
    complaints.push(`${title}: ${wrong.length} of ${devices.length} devices did not get one push; one got ${times}`);
  }
  return complaints;
}
