// Which role may do which act, and in which state of an app. A page asks this file instead of
// comparing roles, and shows the reason for a no.

export type Role = 'viewer' | 'member' | 'admin' | 'owner';

const roles: readonly Role[] = ['viewer', 'member', 'admin', 'owner'];

export const roleNames = { viewer: 'Viewer', member: 'Member', admin: 'Admin', owner: 'Owner' } as const;

/** The people whose role is at least this one. */
const peopleFrom = {
  member: 'members, admins and owners',
  admin: 'admins and owners',
  owner: 'owners',
} as const;

/** The least role of each act, as the service's routes demand it, and the name of the act. */
const actsByRole = {
  'app.create': ['admin', 'make apps'],
  'app.edit': ['admin', 'change the settings of an app'],
  'app.suspend': ['owner', 'suspend and delete apps'],
  'app.delete': ['owner', 'suspend and delete apps'],
  'audit.read': ['admin', 'read the audit'],
  'channel.edit': ['admin', 'set up and change channels'],
  'device.delete': ['admin', 'remove devices'],
  'device.edit': ['member', 'change devices'],
  'device.read': ['member', 'see devices'],
  'event.read': ['member', 'see the events of people'],
  'identity.edit': ['admin', 'change the proof of identity'],
  'key.edit': ['admin', 'see and change keys'],
  'message.cancel': ['member', 'cancel messages'],
  'message.send': ['member', 'compose and send messages'],
  'organisation.edit': ['owner', 'change the organisation'],
  'plan.edit': ['owner', 'see and change the plan'],
  'property.edit': ['admin', 'declare and change properties'],
  'segment.delete': ['admin', 'delete segments'],
  'segment.edit': ['member', 'make and change segments'],
  'report.rebuild': ['admin', 'rebuild the reports'],
  'system.resume': ['owner', 'resume sending'],
  'team.edit': ['admin', 'see and change the team'],
  'token.edit': ['owner', 'see and change operator tokens'],
  'user.edit': ['member', 'change users'],
  'user.erase': ['admin', 'erase users'],
  'user.export': ['admin', 'export users'],
  'user.read': ['member', 'see users'],
  'value.read': ['member', 'see values of people'],
  'webhook.edit': ['admin', 'add and change webhooks'],
} as const satisfies Record<string, readonly [Role, string]>;

export type Act = keyof typeof actsByRole;

/** Null: the role may do it. Otherwise the reason, for people. */
export function refusalFor(role: Role, act: Act): string | null {
  const [least, words] = actsByRole[act];
  if (roles.indexOf(role) >= roles.indexOf(least)) return null;
  return `Only ${peopleFrom[least]} can ${words}. Your role is ${role}.`;
}

export const mayDo = (role: Role, act: Act): boolean => refusalFor(role, act) === null;

/** The pages and acts that a role may use. */
export const allowedFor = <Entry extends { readonly needs?: Act }>(role: Role, entries: readonly Entry[]): Entry[] =>
  entries.filter(({ needs }) => needs === undefined || mayDo(role, needs));

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
