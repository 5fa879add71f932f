// Writes any number of JSON lines to a response, at the reader's pace, and lets pushes run in
// between.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

const linesAtATime = 250;

/** Ends the response. Stops early when its reader is gone. */
export async function writeLines(response: ServerResponse, items: Iterable<unknown>): Promise<void> {
  let lines: string[] = [];
  const flush = async (): Promise<void> => {
    const hasRoom = response.write(lines.join(''));
    lines = [];
    if (!hasRoom) await once(response, 'drain');
    else await new Promise((resolve) => setImmediate(resolve));
  };
  for (const item of items) {
    lines.push(`${JSON.stringify(item)}\n`);
    if (lines.length >= linesAtATime) await flush();
    if (response.destroyed) return;
  }
  response.end(lines.join(''));
}
