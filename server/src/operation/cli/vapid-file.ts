// Reads a file of VAPID keys: one pair, as `web-push generate-vapid-keys --json` prints it, with an
// optional subject; or a list of such pairs.
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { CommandError } from './answer.ts';

const pair = z.object({ publicKey: z.string(), privateKey: z.string(), subject: z.string().optional() });
export type VapidPair = z.infer<typeof pair>;

/**
 * Reads every pair of a file as it is written there. Does not judge whether the keys of a pair
 * belong together. Throws a `CommandError`.
 */
export function readVapidPairs(file: string): readonly VapidPair[] {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandError(`--vapid-file ${file} ${code === undefined ? 'is not JSON' : `cannot be read: ${code}`}`);
  }
  const parsed = z
    .array(pair)
    .min(1)
    .safeParse(Array.isArray(value) ? value : [value]);
  if (parsed.success) return parsed.data;
  throw new CommandError(`--vapid-file ${file} must hold {"publicKey": "…", "privateKey": "…"}`);
}
