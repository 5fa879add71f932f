// The roles of people and operator tokens in an organisation, from the least to the greatest. Pure.

export const roles = ['viewer', 'member', 'admin', 'owner'] as const;
export type Role = (typeof roles)[number];

/** Returns whether a role may do what `least` may do. */
export function isAtLeast(role: Role, least: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(least);
}
