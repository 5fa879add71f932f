// Every address of the console. No other file writes one.

const of = (app: string, rest = ''): string => `/apps/${app}${rest}`;
const part = encodeURIComponent;

/** The object that a new message starts from. */
export interface ComposeFrom {
  readonly draft?: string;
  readonly message?: string;
  readonly segment?: string;
  readonly template?: string;
  readonly version?: string;
}

export const paths = {
  home: '/',
  signIn: '/sign-in',
  account: '/account',
  newApp: '/apps/new',
  team: '/team',
  tokens: '/tokens',
  organisationAudit: '/audit',
  overview: (app: string) => of(app),
  compose: (app: string, from: ComposeFrom = {}) => {
    const search = new URLSearchParams(from as Record<string, string>).toString();
    return of(app, `/compose${search === '' ? '' : `?${search}`}`);
  },
  messages: (app: string) => of(app, '/messages'),
  message: (app: string, message: string) => of(app, `/messages/${part(message)}`),
  delivery: (app: string, message: string, device: string) =>
    of(app, `/messages/${part(message)}/deliveries/${part(device)}`),
  users: (app: string) => of(app, '/users'),
  user: (app: string, externalId: string) => of(app, `/users/${part(externalId)}`),
  devices: (app: string) => of(app, '/devices'),
  device: (app: string, device: string) => of(app, `/devices/${part(device)}`),
  segments: (app: string) => of(app, '/segments'),
  /** `event`: the new segment begins with people who did this event. */
  newSegment: (app: string, event?: string) =>
    of(app, `/segments/new${event === undefined ? '' : `?event=${part(event)}`}`),
  segment: (app: string, segment: string) => of(app, `/segments/${part(segment)}`),
  properties: (app: string) => of(app, '/properties'),
  property: (app: string, key: string) => of(app, `/properties/${part(key)}`),
  events: (app: string) => of(app, '/events'),
  event: (app: string, name: string) => of(app, `/events/${part(name)}`),
  /** `key`: only the requests of this key. */
  requests: (app: string, key?: string) => of(app, `/developers${key === undefined ? '' : `?key=${part(key)}`}`),
  reports: (app: string) => of(app, '/reports'),
  engagement: (app: string) => of(app, '/reports/engagement'),
  audience: (app: string) => of(app, '/reports/audience'),
  deliverability: (app: string) => of(app, '/reports/deliverability'),
  /** `name`: only events of this name. */
  liveEvents: (app: string, name?: string) =>
    of(app, `/developers/events${name === undefined ? '' : `?name=${part(name)}`}`),
  settings: (app: string) => of(app, '/settings'),
  key: (app: string, key: string) => of(app, `/settings/keys/${part(key)}`),
  channels: (app: string) => of(app, '/settings/channels'),
  webhooks: (app: string) => of(app, '/settings/webhooks'),
  webhook: (app: string, webhook: string) => of(app, `/settings/webhooks/${part(webhook)}`),
  identity: (app: string) => of(app, '/settings/identity'),
  usage: (app: string) => of(app, '/settings/usage'),
  clientEvents: (app: string) => of(app, '/settings/client-events'),
  general: (app: string) => of(app, '/settings/general'),
  audit: (app: string) => of(app, '/settings/audit'),
  auditEntry: (app: string | undefined, entry: string) =>
    `${app === undefined ? '/audit' : of(app, '/settings/audit')}/${part(entry)}`,
  danger: (app: string) => of(app, '/settings/danger'),
} as const;

const pagesOfIds: Readonly<Record<string, (app: string, id: string) => string>> = {
  app_: (_app, id) => paths.overview(id),
  dev_: paths.device,
  drf_: (app, draft) => paths.compose(app, { draft }),
  key_: paths.key,
  msg_: paths.message,
  seg_: paths.segment,
  whk_: paths.webhook,
};

/** The page of the object that an id names, if its kind has one. */
export function pageOfId(app: string, id: string): string | undefined {
  return pagesOfIds[id.slice(0, 4)]?.(app, id);
}
