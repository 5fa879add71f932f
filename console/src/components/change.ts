// How a figure compares with the one before, in words. Pure.
import { formatShare } from '../format.ts';

/**
 * `12% more than in the 7 days before`. `what` is the phrase for the time before, such as `in the 7
 * days before`.
 */
export function tellChange(now: number, before: number, what: string): string {
  if (before === 0) return now === 0 ? `none ${what} either` : `none ${what}`;
  if (now === before) return `same as ${what}`;
  return `${formatShare(Math.abs(now - before), before)} ${now > before ? 'more' : 'less'} than ${what}`;
}
