// The author of an object or a change, from the words of the service: `person anna@shop.example`.
// Pure.
import type { AuditEntry } from '../api/objects.ts';

type ActorKind = AuditEntry['actor']['kind'];

export const actorKindNames: Readonly<Record<ActorKind, string>> = {
  person: 'person',
  token: 'operator token',
  key: 'API key',
  cli: 'command line',
  service: 'service',
};

/**
 * `anna@shop.example`, `the token “Deploy”`, `root on the command line`; other words as they are.
 */
export function tellAuthor(author: string): string {
  const [, kind, name] = /^(person|token|key|cli) (.+)$/s.exec(author) ?? [];
  if (name === undefined) return author;
  if (kind === 'person') return name;
  return kind === 'cli' ? `${name} on the command line` : `the ${kind} “${name}”`;
}
