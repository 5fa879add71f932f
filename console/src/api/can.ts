// The rules of which role may do which act, and in which state of an app. A page asks this file
// rather than comparing roles itself, and shows the reason where the answer is no.

export type Role = 'viewer' | 'member' | 'admin' | 'owner';

const roles: readonly Role[] = ['viewer', 'member', 'admin', 'owner'];

export const roleNames = { viewer: 'Viewer', member: 'Member', admin: 'Admin', owner: 'Owner' } as const;

/** The people whose role is at least this one. */
const peopleFrom = {
  member: 'members, admins and owners',
  admin: 'admins and owners',
  owner: 'owners',
} as const;

/** The least role of each act, as the service's routes demand it. */
const leastRole = {
  'app.create': 'admin',
  'app.edit': 'admin',
  'app.suspend': 'owner',
  'app.delete': 'owner',
  'audit.read': 'admin',
  'channel.edit': 'admin',
  'device.delete': 'admin',
  'device.edit': 'member',
  'device.read': 'member',
  'event.read': 'member',
  'identity.edit': 'admin',
  'key.edit': 'admin',
  'message.cancel': 'member',
  'message.send': 'member',
  'organisation.edit': 'owner',
  'plan.edit': 'owner',
  'property.edit': 'admin',
  'segment.delete': 'admin',
  'segment.edit': 'member',
  'report.rebuild': 'admin',
  'system.resume': 'owner',
  'team.edit': 'admin',
  'token.edit': 'owner',
  'user.edit': 'member',
  'user.erase': 'admin',
  'user.export': 'admin',
  'user.read': 'member',
  'webhook.edit': 'admin',
} as const satisfies Record<string, Role>;

export type Act = keyof typeof leastRole;

/** Null: the role may do it. Otherwise the reason, in words for people. */
export function refusalFor(role: Role, act: Act): string | null {
  const least = leastRole[act];
  if (roles.indexOf(role) >= roles.indexOf(least)) return null;
  return `Only ${peopleFrom[least]} can do this. Your role is ${role}.`;
}

export const mayDo = (role: Role, act: Act): boolean => refusalFor(role, act) === null;

/** Roles that somebody of this role may give. */
export const rolesUpTo = (role: Role): readonly Role[] => roles.slice(0, roles.indexOf(role) + 1);

/** The states in which an act makes sense, by object. */
const messageActs = {
  cancel: ['scheduled', 'sending'],
  watch: ['scheduled', 'sending'],
} as const;

const deviceActs = {
  edit: ['active', 'invalid'],
  test: ['active'],
  remove: ['active', 'invalid'],
} as const;

const webhookActs = {
  enable: ['disabled'],
  disable: ['enabled'],
  test: ['enabled', 'disabled'],
  rotate: ['enabled', 'disabled'],
  replay: ['enabled', 'disabled'],
} as const;

const keyActs = {
  rotate: ['active'],
  revoke: ['active', 'expiring'],
} as const;

const can =
  <Acts extends Record<string, readonly string[]>>(acts: Acts) =>
  (state: string, act: keyof Acts): boolean =>
    acts[act]?.includes(state) ?? false;

export const messageCan = can(messageActs);
export const deviceCan = can(deviceActs);
export const webhookCan = can(webhookActs);
export const keyCan = can(keyActs);
