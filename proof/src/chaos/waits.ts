// What the database's connections waited for at some time of a run, in words: so that an outcome that was committed late explains
// itself. Knows the files of a run alone.
import type { WaitLine } from './history-files.ts';

const namedMax = 6;
const queryLengthMax = 70;

/**
 * Which connections waited between two instants, the longest first, for what and behind whom; and how late the look-out itself was,
 * which is how much everything was late then: milliseconds that the machine owes to other work say nothing of the service.
 */
export function describeWaits(waits: readonly WaitLine[], fromMs: number, toMs: number): string {
  const within = waits.filter(({ at }) => at >= fromMs && at <= toMs);
  if (within.length === 0) return 'nobody looked at the database meanwhile';
  const longest = new Map<string, { ms: number; words: string }>();
  for (const { backends } of within) {
    for (const backend of backends) {
      // One wait has one beginning, however often it was seen.
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
  return `${words.join('; ')}; whoever looked was late by ${Math.round(lateMs)} ms at most`;
}
