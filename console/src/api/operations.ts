// One typed function for each operation that the console uses. Paths of the API stand here and
// nowhere else.
import { addressOf, call, callForText, part } from './client.ts';
import type {
  AndroidPushCredential,
  App,
  AppEdit,
  AppList,
  ApplePushCredential,
  AuditPage,
  CatalogPage,
  CataloguedEvent,
  CataloguedProperty,
  ChangedMember,
  ChannelName,
  ChannelTestResult,
  Credential,
  CredentialList,
  Credentials,
  DeletedApp,
  DeletedSegment,
  DeliverabilityReport,
  DeliveryHistory,
  DeliveryPage,
  Device,
  DeviceEdit,
  DeviceReport,
  Done,
  Draft,
  DraftPage,
  DryRun,
  EditedDevice,
  EditedProperty,
  EditedUser,
  EngagementReport,
  Entered,
  ErasedUser,
  EventNamePage,
  Explanation,
  FirstClick,
  FirstCode,
  Identify,
  IdentifyEdit,
  IdentifyRotation,
  Join,
  Key,
  KeyList,
  LastReportRebuild,
  Link,
  ListedDevice,
  ListedMessage,
  ListedUser,
  MadeApp,
  MadeIdentify,
  MadeInvite,
  MadeKey,
  MadeToken,
  MadeWebhook,
  Message,
  MessageAnswer,
  MessageFigures,
  NewApp,
  NewDraft,
  NewInvite,
  NewKey,
  NewProperty,
  NewTemplate,
  NewToken,
  NewWebhook,
  OidcLink,
  OidcStart,
  OptedOutDevice,
  Organisation,
  OrganisationEdit,
  Overview as OverviewReport,
  OwnPassword,
  Page,
  PasswordChange,
  Pause,
  PlanChange,
  PlanList,
  PresentSession,
  Preview,
  PreviewRequest,
  PropertyConsequences,
  PropertyEdit,
  RecentEventPage,
  RecoveryCodes,
  RemovedMember,
  RenderedMessage,
  RenderRequest,
  Replay,
  Replayed,
  ReportRebuild,
  RequestList,
  Reset,
  RevenueReport,
  RoleChange,
  RotatedKey,
  RotatedWebhook,
  SavedDraft,
  SavedTemplate,
  SecondFactor,
  SecondFactorCode,
  Segment,
  SegmentEdit,
  SegmentPage,
  SegmentRequest,
  SegmentUses,
  SessionKey,
  SessionList,
  Setup,
  SparedDevices,
  Team,
  Template,
  TemplatePage,
  TemplateVersion,
  TestSend,
  TestSent,
  TestUserList,
  TestUsers,
  Token,
  TokenList,
  Usage,
  User,
  UserEdit,
  UserEvents,
  UserSegments,
  ValueList,
  Webhook,
  WebhookAttemptList,
  WebhookEdit,
  WebhookList,
  WebhookRotation,
  WebhookTest,
  WebPushCredential,
  Welcome,
} from './objects.ts';

interface Walk {
  readonly limit?: number;
  readonly cursor?: string | undefined;
  readonly signal?: AbortSignal;
}
const app = (id: string, rest = '') => `/apps/${part(id)}${rest}`;
const list = <Answer>(path: string, { signal, ...query }: Walk & Record<string, unknown>): Promise<Answer> =>
  call<Answer>('GET', path, { query: query as Record<string, string>, ...(signal && { signal }) });

// Coming in
export const getWelcome = () => call<Welcome>('GET', '/welcome');
export const getLink = (secret: string) => call<Link>('POST', '/link', { body: { secret } });
export const signIn = (body: Credentials) => call<Entered>('POST', '/login', { body });
export const signInSecondFactor = (body: SecondFactorCode) => call<Entered>('POST', '/login/second-factor', { body });
export const oidcAddress = () => addressOf('/oidc/start');
export const startOidcByLink = (body: OidcLink) => call<OidcStart>('POST', '/oidc/start', { body });
export const linkOidc = () => call<Done>('POST', '/oidc/link');
export const setUp = (body: Setup) => call<Entered>('POST', '/setup', { body });
export const acceptInvite = ({ email, ...body }: Join) =>
  call<Entered>('POST', '/join', { body: email === '' ? body : { ...body, email } });
export const resetPassword = (body: Reset) => call<Entered>('POST', '/reset', { body });

// Your account
export const changePassword = (body: PasswordChange) => call<Done>('POST', '/password', { body });
export const beginSecondFactor = (body: OwnPassword) => call<SecondFactor>('POST', '/2fa/enable', { body });
export const confirmSecondFactor = (body: FirstCode) => call<Done>('POST', '/2fa/verify', { body });
export const removeSecondFactor = (body: OwnPassword) => call<Done>('POST', '/2fa/disable', { body });
export const makeRecoveryCodes = (body: OwnPassword) => call<RecoveryCodes>('POST', '/2fa/recovery-codes', { body });
export const editOrganisation = (body: OrganisationEdit) => call<Organisation>('PUT', '/organisation', { body });

// The person who is signed in
export const getSession = () => call<PresentSession>('GET', '/session');
export const signOut = () => call<Done>('POST', '/logout');
/** The largest page, for callers that need all rows of a short list. */
const whole = { limit: 200 } as const;
type Search = Walk & { readonly q?: string | undefined };
export const listSessions = () => list<SessionList>('/sessions', whole);
export const endSession = (id: string) => call<Done>('DELETE', `/sessions/${part(id)}`);

// Apps
export const listApps = (search: Search = whole) => list<AppList>('/apps', { ...search });
export const createApp = (body: NewApp) => call<MadeApp>('POST', '/apps', { body });
export const getApp = (id: string) => call<App>('GET', app(id));
export const editApp = (id: string, body: AppEdit) => call<App>('PATCH', app(id), { body });
export const suspendApp = (id: string) => call<App>('POST', app(id, '/suspend'));
export const resumeApp = (id: string) => call<App>('POST', app(id, '/resume'));
export const deleteApp = (id: string, name: string) => call<DeletedApp>('DELETE', app(id), { body: { name } });

// Messages and deliveries
export interface MessageFilters extends Walk {
  readonly status?: string | undefined;
  readonly q?: string | undefined;
}
export const listMessages = (id: string, filters: MessageFilters = {}) =>
  list<Page<ListedMessage>>(app(id, '/messages'), { ...filters });
export const getFirstClick = (id: string) => call<FirstClick>('GET', app(id, '/first-click'));
export const getMessage = (id: string, message: string) => call<Message>('GET', app(id, `/messages/${part(message)}`));
export const cancelMessage = (id: string, message: string) =>
  call<Message>('POST', app(id, `/messages/${part(message)}/cancel`));
export interface DeliveryFilters extends Walk {
  readonly status?: string | undefined;
  readonly channel?: string | undefined;
  readonly device_id?: string | undefined;
  readonly error_code?: string | undefined;
}
export const listDeliveries = (id: string, message: string, filters: DeliveryFilters = {}) =>
  list<DeliveryPage>(app(id, `/messages/${part(message)}/deliveries`), { ...filters });

// Devices, users, and why they got nothing
export interface DeviceFilters extends Walk {
  readonly platform?: string | undefined;
  readonly status?: string | undefined;
  readonly external_id?: string | undefined;
  readonly q?: string | undefined;
}
export const listDevices = (id: string, filters: DeviceFilters = {}) =>
  list<Page<ListedDevice>>(app(id, '/devices'), { ...filters });
export const getDevice = (id: string, device: string) => call<Device>('GET', app(id, `/devices/${part(device)}`));
export const editDevice = (id: string, device: string, body: DeviceEdit) =>
  call<EditedDevice>('PATCH', app(id, `/devices/${part(device)}`), { body });
export const removeDevice = (id: string, device: string) =>
  call<OptedOutDevice>('DELETE', app(id, `/devices/${part(device)}`));
export const listUsers = (id: string, filters: Walk & { q?: string | undefined } = {}) =>
  list<Page<ListedUser>>(app(id, '/users'), { ...filters });
export const getUser = (id: string, externalId: string) => call<User>('GET', app(id, `/users/${part(externalId)}`));
export const editUser = (id: string, externalId: string, body: UserEdit) =>
  call<EditedUser>('PATCH', app(id, `/users/${part(externalId)}`), { body });
export const listUserSegments = (id: string, externalId: string, walk: Walk = {}) =>
  list<UserSegments>(app(id, `/users/${part(externalId)}/segments`), { ...walk });
export const listUserEvents = (id: string, externalId: string, walk: Walk = {}) =>
  list<UserEvents>(app(id, `/users/${part(externalId)}/events`), { ...walk });
export const listUserDeliveries = (id: string, externalId: string, walk: Walk = {}) =>
  list<DeliveryHistory>(app(id, `/users/${part(externalId)}/deliveries`), { ...walk });
export const listDeviceDeliveries = (id: string, device: string, walk: Walk = {}) =>
  list<DeliveryHistory>(app(id, `/devices/${part(device)}/deliveries`), { ...walk });
export const eraseUser = (id: string, externalId: string) =>
  call<ErasedUser>('DELETE', app(id, `/users/${part(externalId)}`));
export const userExportAddress = (id: string, externalId: string) =>
  addressOf(app(id, `/users/${part(externalId)}/export`));
export type ExplainQuestion = { readonly external_id?: string; readonly device_id?: string };
export const explain = (id: string, message: string, question: ExplainQuestion) =>
  call<Explanation>('GET', app(id, '/explain'), { query: { message_id: message, ...question } });
export const explainNewest = (id: string, question: ExplainQuestion) =>
  call<Explanation>('GET', app(id, '/explain'), { query: question });

// Keys
export const listKeys = (id: string, search: Search = whole) => list<KeyList>(app(id, '/keys'), { ...search });
export const createKey = (id: string, body: NewKey) => call<MadeKey>('POST', app(id, '/keys'), { body });
export const rotateKey = (key: string, overlapHours: number) =>
  call<RotatedKey>('POST', `/keys/${part(key)}/rotate`, { body: { overlap_hours: overlapHours } });
export const revokeKey = (key: string) => call<Key>('DELETE', `/keys/${part(key)}`);

// Channels
export const listChannels = (id: string) => list<CredentialList>(app(id, '/channels'), whole);
export const setWebpush = (id: string, body: WebPushCredential) =>
  call<Credential>('POST', app(id, '/channels/webpush'), { body });
export const setApns = (id: string, body: ApplePushCredential) =>
  call<Credential>('PUT', app(id, '/channels/apns'), { body });
export const setFcm = (id: string, body: AndroidPushCredential) =>
  call<Credential>('PUT', app(id, '/channels/fcm'), { body });
export const removeChannel = (id: string, channel: ChannelName) =>
  call<Done>('DELETE', app(id, `/channels/${channel}`));
export const listSpared = (id: string, channel: ChannelName) =>
  call<SparedDevices>('GET', app(id, `/channels/${channel}/spared`));
export const testChannel = (id: string, channel: ChannelName, deviceId: string) =>
  call<ChannelTestResult>('POST', app(id, `/channels/${channel}/test`), { body: { device_id: deviceId } });

// Webhooks
const hook = (id: string, rest = '') => `/webhooks/${part(id)}${rest}`;
export const listWebhooks = (id: string, search: Search = whole) =>
  list<WebhookList>(app(id, '/webhooks'), { ...search });
export const createWebhook = (id: string, body: NewWebhook) =>
  call<MadeWebhook>('POST', app(id, '/webhooks'), { body });
export const getWebhook = (id: string) => call<Webhook>('GET', hook(id));
export const editWebhook = (id: string, body: WebhookEdit) => call<Webhook>('PATCH', hook(id), { body });
export const deleteWebhook = (id: string) => call<Done>('DELETE', hook(id));
export const enableWebhook = (id: string) => call<Webhook>('POST', hook(id, '/enable'));
export const disableWebhook = (id: string) => call<Webhook>('POST', hook(id, '/disable'));
export const testWebhook = (id: string) => call<WebhookTest>('POST', hook(id, '/test'));
export const rotateWebhook = (id: string, body: WebhookRotation) =>
  call<RotatedWebhook>('POST', hook(id, '/rotate'), { body });
export const finishWebhookRotation = (id: string) => call<Webhook>('POST', hook(id, '/rotate/finish'));
export const replayWebhook = (id: string, body: Replay) => call<Replayed>('POST', hook(id, '/replay'), { body });
export const listAttempts = (id: string) => call<WebhookAttemptList>('GET', hook(id, '/attempts'));

// Identity, plan and usage
export const getIdentity = (id: string) => call<Identify>('GET', app(id, '/identify'));
export const setIdentity = (id: string, body: IdentifyEdit) =>
  call<MadeIdentify>('PUT', app(id, '/identify'), { body });
export const rotateIdentity = (id: string, body: IdentifyRotation) =>
  call<MadeIdentify>('POST', app(id, '/identify/rotate'), { body });
export const finishIdentityRotation = (id: string) => call<Identify>('POST', app(id, '/identify/rotate/finish'));
export const listPlans = () => call<PlanList>('GET', '/plans');
export const setPlan = (id: string, body: PlanChange) => call<App>('PUT', app(id, '/plan'), { body });
export const getUsage = (id: string) => call<Usage>('GET', app(id, '/usage'));

// Reports
export interface ReportRange {
  readonly from: string;
  readonly to: string;
  readonly tz: string;
  readonly group?: string | undefined;
}
export interface RevenueRange extends ReportRange {
  readonly window_hours?: string | undefined;
  readonly segment_id?: string | undefined;
}
/** The most rows by message that one answer has. */
const reportRows = 200;
const report = <Answer>(id: string, name: string, query: object, signal?: AbortSignal) =>
  call<Answer>('GET', app(id, `/reports/${name}`), { query: { ...query }, ...(signal && { signal }) });
export const getRevenue = (id: string, range: RevenueRange, signal?: AbortSignal) =>
  report<RevenueReport>(id, 'revenue', { ...range, limit: reportRows }, signal);
export const getEngagement = (id: string, range: ReportRange, signal?: AbortSignal) =>
  report<EngagementReport>(id, 'engagement', { ...range, limit: reportRows }, signal);
export const getAudience = (id: string, range: ReportRange, signal?: AbortSignal) =>
  report<DeviceReport>(id, 'devices', range, signal);
export const getDeliverability = (id: string, range: ReportRange, signal?: AbortSignal) =>
  report<DeliverabilityReport>(id, 'deliverability', range, signal);
export type ReportName = 'revenue' | 'engagement' | 'devices' | 'deliverability';
export const getReportCsv = (id: string, name: ReportName, range: RevenueRange) =>
  callForText(app(id, `/reports/${name}`), 'text/csv', {
    ...range,
    ...(name === 'revenue' || name === 'engagement' ? { limit: reportRows } : {}),
  });
export const getRebuild = (id: string) => call<LastReportRebuild>('GET', app(id, '/reports/rebuild'));
export const rebuildReports = (id: string) => call<ReportRebuild>('POST', app(id, '/reports/rebuild'), { body: {} });
export const getOverview = (id: string, tz: string) =>
  call<OverviewReport>('GET', app(id, '/overview'), { query: { tz } });
export const getOverviewCsv = (id: string, tz: string) => callForText(app(id, '/overview'), 'text/csv', { tz });
export const getMessageFigures = (id: string, message: string) =>
  call<MessageFigures>('GET', app(id, `/messages/${part(message)}/figures`));

// Team, tokens, audit
export const getTeam = (search: Search) => list<Team>('/team', { ...search });
export const invite = (body: NewInvite) => call<MadeInvite>('POST', '/team/invites', { body });
export const withdrawInvite = (id: string) => call<Done>('DELETE', `/team/invites/${part(id)}`);
export const editMember = (id: string, body: RoleChange) => call<ChangedMember>('PATCH', `/team/${part(id)}`, { body });
export const removeMember = (id: string) => call<RemovedMember>('DELETE', `/team/${part(id)}`);
export const listTokens = (search: Search) => list<TokenList>('/tokens', { ...search });
export const createToken = (body: NewToken) => call<MadeToken>('POST', '/tokens', { body });
export const revokeToken = (id: string) => call<Token>('DELETE', `/tokens/${part(id)}`);
/** `id`: the app; undefined: all entries of the organisation. */
const auditPath = (id: string | undefined) => (id === undefined ? '/audit' : app(id, '/audit'));
export interface TimeRange {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}
export const listAudit = (id: string | undefined, filters: TimeRange & Search = {}) =>
  list<AuditPage>(auditPath(id), { ...filters });
export const getAuditCsv = (id: string | undefined, range: TimeRange & { readonly q?: string | undefined }) =>
  callForText(auditPath(id), 'text/csv', { ...range });

// Developers and the live feeds
export const liveAddress = (id: string) => addressOf(app(id, '/live'));
export const liveEventsAddress = (id: string, name: string | undefined) => addressOf(app(id, '/live/events'), { name });
export interface RequestFilters {
  readonly status?: string | undefined;
  readonly path?: string | undefined;
  readonly key?: string | undefined;
}
export const listRequests = (id: string, query: RequestFilters = {}) =>
  call<RequestList>('GET', app(id, '/requests'), { query: { ...query } });

// The restore guard
export const getPause = () => call<Pause>('GET', '/system/pause');
export const resumeService = () => call<Pause>('POST', '/system/resume');

// Segments, and what a filter of one reaches
export type AudienceQuestion = PreviewRequest;
export const countAudience = (id: string, body: AudienceQuestion, signal?: AbortSignal) =>
  call<Preview>('POST', app(id, '/segments/preview'), { body, ...(signal && { signal }) });
export const suggestValues = (id: string, query: { field: string; q?: string }, signal?: AbortSignal) =>
  call<ValueList>('GET', app(id, '/values'), { query, ...(signal && { signal }) });
export const listSegments = (id: string, filters: Walk & { q?: string | undefined } = {}) =>
  list<SegmentPage>(app(id, '/segments'), { ...filters });
export const getSegment = (id: string, segment: string) => call<Segment>('GET', app(id, `/segments/${part(segment)}`));
export const getSegmentUses = (id: string, segment: string) =>
  call<SegmentUses>('GET', app(id, `/segments/${part(segment)}/uses`));
export const createSegment = (id: string, body: SegmentRequest) =>
  call<Segment>('POST', app(id, '/segments'), { body });
export const editSegment = (id: string, segment: string, body: SegmentEdit) =>
  call<Segment>('PATCH', app(id, `/segments/${part(segment)}`), { body });
export const deleteSegment = (id: string, segment: string) =>
  call<DeletedSegment>('DELETE', app(id, `/segments/${part(segment)}`));

// Properties and events
export const listProperties = (id: string, filters: Walk & { q?: string | undefined } = {}) =>
  list<CatalogPage>(app(id, '/properties'), { ...filters });
export const getProperty = (id: string, key: string) =>
  call<CataloguedProperty>('GET', app(id, `/properties/${part(key)}`));
export const getPropertyConsequences = (id: string, key: string) =>
  call<PropertyConsequences>('GET', app(id, `/properties/${part(key)}/consequences`));
export const declareProperty = (id: string, body: NewProperty) =>
  call<EditedProperty>('POST', app(id, '/properties'), { body });
export const changeProperty = (id: string, key: string, body: PropertyEdit) =>
  call<EditedProperty>('PATCH', app(id, `/properties/${part(key)}`), { body });
export const deleteProperty = (id: string, key: string) =>
  call<EditedProperty>('DELETE', app(id, `/properties/${part(key)}`));
export const listEventNames = (id: string, filters: Walk & { q?: string | undefined } = {}) =>
  list<EventNamePage>(app(id, '/events'), { ...filters });
export const getEventName = (id: string, name: string) =>
  call<CataloguedEvent>('GET', app(id, `/events/${part(name)}`));
export const listRecentEvents = (id: string, name: string, walk: Walk = {}) =>
  list<RecentEventPage>(app(id, `/events/${part(name)}/recent`), { ...walk });

// Composing
export const sendMessage = (id: string, body: Record<string, unknown>, idempotencyKey: string | null) =>
  call<MessageAnswer>('POST', app(id, '/messages'), {
    body,
    ...(idempotencyKey !== null && { headers: { 'idempotency-key': idempotencyKey } }),
  });
export const dryRunMessage = (id: string, body: Record<string, unknown>, signal?: AbortSignal) =>
  call<DryRun>('POST', app(id, '/messages'), { body: { ...body, dry_run: true }, ...(signal && { signal }) });
export const renderMessage = (id: string, body: RenderRequest, signal?: AbortSignal) =>
  call<RenderedMessage>('POST', app(id, '/render'), { body, ...(signal && { signal }) });
export const listDrafts = (id: string, filters: Walk & { q?: string } = {}) =>
  list<DraftPage>(app(id, '/drafts'), { ...filters });
export const getDraft = (id: string, draft: string) => call<Draft>('GET', app(id, `/drafts/${part(draft)}`));
export const createDraft = (id: string, body: NewDraft) =>
  call<Draft>('POST', app(id, '/drafts'), { body, outlivesPage: true });
export const saveDraft = (id: string, draft: string, body: SavedDraft) =>
  call<Draft>('PUT', app(id, `/drafts/${part(draft)}`), { body, outlivesPage: true });
export const deleteDraft = (id: string, draft: string) => call<Done>('DELETE', app(id, `/drafts/${part(draft)}`));
export const listTemplates = (id: string, filters: Walk & { q?: string } = {}) =>
  list<TemplatePage>(app(id, '/templates'), { ...filters });
export const getTemplate = (id: string, template: string) =>
  call<Template>('GET', app(id, `/templates/${part(template)}`));
export const getTemplateVersion = (id: string, template: string, version: string) =>
  call<TemplateVersion>('GET', app(id, `/templates/${part(template)}/versions/${part(version)}`));
export const createTemplate = (id: string, body: NewTemplate) =>
  call<Template>('POST', app(id, '/templates'), { body });
export const saveTemplate = (id: string, template: string, body: SavedTemplate) =>
  call<Template>('PUT', app(id, `/templates/${part(template)}`), { body });
export const deleteTemplate = (id: string, template: string) =>
  call<Done>('DELETE', app(id, `/templates/${part(template)}`));
export const getTestUsers = (id: string) => call<TestUsers>('GET', app(id, '/test-users'));
export const setTestUsers = (id: string, body: TestUserList) =>
  call<TestUsers>('PUT', app(id, '/test-users'), { body });
export const sendToTestUsers = (id: string, body: TestSend) =>
  call<TestSent>('POST', app(id, '/test-users/send'), { body });
export const createSessionKey = (id: string) => call<SessionKey>('POST', app(id, '/session-key'));
