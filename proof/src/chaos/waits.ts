// Describes what the database's connections waited for during a part of a run, to explain an
// outcome that was committed late. It knows only the files of the run.
import type { WaitLine } from './history-files.ts';

const namedMax = 6;
const queryLengthMax = 70;

/**
 * Says which connections waited between two instants, the longest first, and what they waited for.
 * It also says how late the observer itself was: time that the machine gave to other work says
 * nothing about the service.
 */
export function describeWaits(waits: readonly WaitLine[], fromMs: number, toMs: number): string {
  const within = waits.filter(({ at }) => at >= fromMs && at <= toMs);
  if (within.length === 0) return 'nobody looked at the database meanwhile';
  const longest = new Map<string, { ms: number; words: string }>();
  for (const { backends } of within) {
    for (const backend of backends) {
      // One wait has one beginning, however often it was observed.
      const { pid, ms, state, event, query, behind } = backend;
      const words = `${backend.name} ${pid} ${state === 'active' ? `waited for ${event}` : `was ${state}`}`;
      const what = query.replaceAll(/\s+/g, ' ').trim().slice(0, queryLengthMax);
      const known = longest.get(`${pid} ${what}`);
      if (known && known.ms >= ms) continue;
      const after = behind.length > 0 ? `, behind ${behind.join(' and ')}` : '';
      longest.set(`${pid} ${what}`, { ms, words: `${words} for ${Math.round(ms)} ms${after}: ${what}` });
    }
  }
  const lateMs = Math.max(...within.map((each) => each.lateMs));
  const named = [...longest.values()].sort((one, other) => other.ms - one.ms).slice(0, namedMax);
  const words = named.length === 0 ? ['no connection waited'] : named.map((each) => each.words);
  return `${words.join('; ')}; the watcher was late by ${Math.round(lateMs)} ms at most`;
}
