// Describes a plan to an operator in words: its name and its limits.
import type { Plan } from './plan.ts';

/**
 * Returns `'free': 10 requests/s, 10,000 deliveries a month`, or null when the plan limits nothing.
 * The rate is that of a server key when it has one.
 */
export function describePlan({ name, skPerSecond, ckPerSecond, quota }: Plan): string | null {
  const rate = skPerSecond === null ? [] : [`${count(skPerSecond)} requests/s`];
  const clientRate =
    ckPerSecond === null || skPerSecond !== null ? [] : [`${count(ckPerSecond)} requests/s by client key`];
  const month = quota === null ? [] : [`${count(quota.perMonth)} ${unitOf(quota)} a month`];
  const allowed = [...rate, ...clientRate, ...month];
  return allowed.length === 0 ? null : `'${name}': ${allowed.join(', ')}`;
}

function unitOf({ unit }: NonNullable<Plan['quota']>): string {
  return unit === 'delivery' ? 'deliveries' : 'messages';
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}
