// For each claim of SECURITY.md the one line of code that keeps it, and what stands there without
// it. The rest of the file stays as it is, so the mutant compiles and starts.

export interface Control {
  readonly file: string;
  /** The whole line, without its indent. It stands in its file exactly once. */
  readonly line: string;
  /** The line of the mutant. */
  readonly without: string;
}

export const controls: Readonly<Record<string, Control>> = {
  'S-1': {
    file: 'server/src/ground/checked-token.ts',
    line: "return createHash('sha256').update(text, 'ascii').digest();",
    without: "return createHash('sha256').update(text.slice(0, 12), 'ascii').digest();",
  },
  'S-2': {
    file: 'server/src/ground/checked-token.ts',
    line: 'return checksumOf(text.slice(0, -checksumLength)) === text.slice(-checksumLength);',
    without: 'return true;',
  },
  'S-3': {
    file: 'server/src/apps/authenticate.ts',
    line: 'const match = more.length === 0 && header !== undefined ? /^bearer (\\S+)$/i.exec(header) : null;',
    without: 'const match = header !== undefined ? /(\\S+)$/i.exec(header) : null;',
  },
  'S-4': {
    file: 'server/src/apps/authenticate.ts',
    line: "if (!isAllowed(key, access)) throw new ApiError('wrong_key_scope', { caller });",
    without: '',
  },
  'S-5': {
    file: 'server/src/apps/authenticate.ts',
    line: 'const freshMs = 1000;',
    without: 'const freshMs = 100_000;',
  },
  'S-6': {
    file: 'server/src/apps/key-queries.ts',
    line: 'WHERE k.hash = ${hash} AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ${clock.now})',
    without: 'WHERE k.hash = ${hash} AND k.revoked_at IS NULL AND ${clock.now} IS NOT NULL',
  },
  'S-7': {
    file: 'server/src/apps/authenticate.ts',
    line: "if (key.isSuspended) throw new ApiError('app_suspended', { caller });",
    without: '',
  },
  'S-8': {
    file: 'server/src/console/caller.ts',
    line: "if (app.suspendedAt) throw new ApiError('app_suspended', { message: 'This app is suspended.' });",
    without: '',
  },
  'S-9': {
    file: 'server/src/apps/key-lookups.ts',
    line: 'const atOnceMax = 20;',
    without: 'const atOnceMax = 2000;',
  },
  'S-10': {
    file: 'server/src/quotas/address-limit.ts',
    line: 'await wait(unauthorizedWaitMs);',
    without: '',
  },
  'S-11': {
    file: 'server/src/cli/key.ts',
    line: 'throw new CommandError(`A key is named by its id, key_…; see them with: ${programName} key list APP`);',
    without: 'return text as never;',
  },
  'S-12': {
    file: 'server/src/accounts/session-cookie.ts',
    line: "attributes: 'Path=/; HttpOnly; Secure; SameSite=Lax',",
    without: "attributes: 'Path=/; Secure; SameSite=Lax',",
  },
  'S-13': {
    file: 'server/src/accounts/session-cookie.ts',
    line: "const onLoopback: CookieForm = { name: 'carillon_session', attributes: 'Path=/; HttpOnly; SameSite=Strict' };",
    without: "const onLoopback: CookieForm = { name: 'carillon_session', attributes: 'Path=/; HttpOnly; SameSite=Lax' };",
  },
  'S-14': {
    file: 'server/src/accounts/session-cookie.ts',
    line: 'return isOnLoopback ? onLoopback : null;',
    without: 'return isOnLoopback ? onLoopback : secure;',
  },
  'S-15': {
    file: 'server/src/accounts/session-cookie.ts',
    line: 'if (!peer.isTrusted) return peer.isLoopback && !isForwarded;',
    without: '',
  },
  'S-16': {
    file: 'server/src/accounts/session.ts',
    line: "return createHash('sha256').update(secret, 'utf8').digest();",
    without: "return Buffer.from(secret, 'utf8');",
  },
  'S-17': {
    file: 'server/src/accounts/queries.ts',
    line: "AND s.last_used_at > ${clock.now} - ${idleHoursMax} * interval '1 hour'`;",
    without: 'AND ${idleHoursMax}::int > 0`;',
  },
  'S-18': {
    file: 'server/src/accounts/session.ts',
    line: 'export const sessionDaysMax = 7;',
    without: 'export const sessionDaysMax = 700;',
  },
  'S-19': {
    file: 'server/src/accounts/change-password.ts',
    line: 'await endSessions({ tx }, accountId);',
    without: '',
  },
  'S-20': {
    file: 'server/src/accounts/sign-in.ts',
    line: "if (!account || (await findPasswordHash(tx, id)) !== hash) throw new ApiError('wrong_credentials');",
    without: "if (!account) throw new ApiError('wrong_credentials');",
  },
  'S-21': {
    file: 'server/src/accounts/sign-in.ts',
    line: 'const hash = found ? await findPasswordHash(sql, found.id) : null;',
    without: "if (!found) throw new ApiError('not_found'); const hash = await findPasswordHash(sql, found.id);",
  },
  'S-22': {
    file: 'server/src/accounts/login-limit.ts',
    line: 'if (failures < rule.limit) return 0;',
    without: 'if (failures < rule.limit * 100) return 0;',
  },
  'S-23': {
    file: 'server/src/accounts/login-limit.ts',
    line: 'const counted = await countAttempt(deps, subjects);',
    without: 'const counted: readonly Counted[] = [];',
  },
  'S-24': {
    file: 'server/src/console/sign-in-routes.ts',
    line: 'const email = (await findAccountOfStep(deps, secret))?.email ?? null;',
    without: 'const email: string | null = null;',
  },
  'S-25': {
    file: 'server/src/accounts/login-limit.ts',
    line: "if (browserId !== null) return [['browser', browserId]];",
    without: '',
  },
  'S-26': {
    file: 'server/src/accounts/known-browser.ts',
    line: "return label === 'browser' && person === keyOf(email) && isFresh ? id : null;",
    without: "return label === 'browser' && isFresh ? id : null;",
  },
  'S-27': {
    file: 'server/src/accounts/known-browser.ts',
    line: 'const isFresh = nowMs - Number(atMs) <= browserSeconds * 1000;',
    without: 'const isFresh = Number(atMs) > 0 && nowMs > 0;',
  },
  'S-28': {
    file: 'server/src/accounts/common-passwords.ts',
    line: "if (!(await known).has(password.normalize('NFKC').toLowerCase())) return;",
    without: 'if (!(await known).has(password)) return;',
  },
  'S-29': {
    file: 'server/src/accounts/sign-in.ts',
    line: "if (step === undefined || !(await spendTotpStep(tx, id, step))) throw new ApiError('wrong_credentials');",
    without: "if (step === undefined) throw new ApiError('wrong_credentials');",
  },
  'S-30': {
    file: 'server/src/accounts/sign-in.ts',
    line: "await updateRecoveryCodes(tx, id, factors.seal(id, 'backup_codes', left));",
    without: '',
  },
  'S-31': {
    file: 'server/src/accounts/sign-in.ts',
    line: 'export const stepSeconds = 180;',
    without: 'export const stepSeconds = 18_000;',
  },
  'S-32': {
    file: 'server/src/accounts/begin-session.ts',
    line: 'await deleteStepsOf(tx, accountId);',
    without: '',
  },
  'S-33': {
    file: 'server/src/accounts/login-limit.ts',
    line: 'await recordFailure(tx);',
    without: '',
  },
  'S-34': {
    file: 'server/src/accounts/link-queries.ts',
    line: 'WHERE id = ${id} AND used_at IS NULL AND (expires_at IS NULL OR expires_at > ${clock.now})`;',
    without: 'WHERE id = ${id} AND (expires_at IS NULL OR expires_at > ${clock.now})`;',
  },
  'S-35': {
    file: 'server/src/accounts/links.ts',
    line: 'export const inviteHours = 72;',
    without: 'export const inviteHours = 7200;',
  },
  'S-36': {
    file: 'server/src/accounts/team.ts',
    line: 'const invites = await endInvites(tx, deps.clock, { organisationId, accountId, email });',
    without: 'const invites: Awaited<ReturnType<typeof endInvites>> = [];',
  },
  'S-37': {
    file: 'server/src/console/serve.ts',
    line: '{ ...route, bodyBytesMax: visitorBodyBytesMax },',
    without: '{ ...route },',
  },
  'S-38': {
    file: 'server/src/console/guard.ts',
    line: 'limits.admitSession(session.id);',
    without: '',
  },
  'S-39': {
    file: 'server/src/console/guard.ts',
    line: 'if (least && !isAtLeast(caller.role, least)) await refuseRole(caller, route, least);',
    without: '',
  },
  'S-40': {
    file: 'server/src/console/guard.ts',
    line: "if (route.access === 'session' && caller.session === null) throw new ApiError('session_only');",
    without: '',
  },
  'S-41': {
    file: 'server/src/console/limits.ts',
    line: 'mayRecordRefusal: (callerId, routeId) => refusals.tryCount(`${callerId} ${routeId}`) === 0,',
    without: 'mayRecordRefusal: (callerId, routeId) => refusals.tryCount(`${callerId} ${routeId}`) > 0,',
  },
  'S-42': {
    file: 'server/src/console/origin.ts',
    line: "if (!isSaid || !isSite || !isOrigin) throw new ApiError('cross_origin');",
    without: '',
  },
  'S-43': {
    file: 'server/src/console/guard.ts',
    line: 'checkReader(head);',
    without: '',
  },
  'S-44': {
    file: 'server/src/console/guard.ts',
    line: "const isOfBrowser = [...head.header('origin'), ...head.header('cookie')].length > 0;",
    without: "const isOfBrowser = head.header('origin').length > 100;",
  },
  'S-45': {
    file: 'server/src/accounts/session.ts',
    line: 'return needsSecondFactor && !hasSecondFactor && !isByOidc;',
    without: 'return needsSecondFactor && !hasSecondFactor && isByOidc;',
  },
  'S-46': {
    file: 'server/src/console/guard.ts',
    line: 'if (!app || app.organisationId !== caller.organisationId) throw noSuchApp(text);',
    without: 'if (!app) throw noSuchApp(text);',
  },
  'S-47': {
    file: 'server/src/audit/record-audit.ts',
    line: 'await insertEntry(tx, clock, {',
    without: "if (action !== 'app.create') await insertEntry(tx, clock, {",
  },
  'S-48': {
    file: 'server/src/pages/console-routes.ts',
    line: `"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";`,
    without: `"default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'";`,
  },
  'S-49': {
    file: 'server/src/accounts/oidc-client.ts',
    line: 'for (const extend of [...execute, openid.enableNonRepudiationChecks]) extend(configuration);',
    without: 'for (const extend of execute) extend(configuration);',
  },
  'S-50': {
    file: 'server/src/accounts/oidc-client.ts',
    line: 'expectedState: state,',
    without: 'expectedState: openid.skipStateCheck,',
  },
  'S-51': {
    file: 'server/src/accounts/oidc-proof.ts',
    line: 'return nowMs - atMs <= proofSeconds * 1000;',
    without: 'return nowMs > 0 && atMs > 0;',
  },
  'S-52': {
    file: 'server/src/accounts/oidc-sign-in.ts',
    line: "if (email === null || !isVerified || !isAddress(email)) return { refusal: 'unverified' };",
    without: "if (email === null || !isAddress(email)) return { refusal: 'unverified' };",
  },
  'S-53': {
    file: 'server/src/accounts/oidc-sign-in.ts',
    line: 'return at > 0 && domains.includes(email.slice(at + 1));',
    without: 'return at > 0 && domains.some((domain) => email.endsWith(domain));',
  },
  'S-54': {
    file: 'server/src/accounts/oidc-sign-in.ts',
    line: 'if (session.email !== identity.email || !isProved) {',
    without: 'if (session.email !== identity.email) {',
  },
  'S-55': {
    file: 'server/src/outbound/socket.ts',
    line: 'rejectUnauthorized: true,',
    without: '',
  },
  'S-56': {
    file: 'server/src/outbound/provider-fetch.ts',
    line: "const isIssuer = target.protocol === 'https:' && target.hostname === issuer.hostname;",
    without: "const isIssuer = target.protocol === 'https:' && issuer.hostname !== '';",
  },
  'S-57': {
    file: 'server/src/users/user-token.ts',
    line: "if (header?.['alg'] !== 'HS256' || Object.hasOwn(header, 'crit') || Object.hasOwn(header, 'b64')) return undefined;",
    without: 'if (header === undefined) return undefined;',
  },
  'S-58': {
    file: 'server/src/users/user-token.ts',
    line: 'if (isObject && Object.keys(value).length === countMembers(text)) return { ...value };',
    without: 'if (isObject && countMembers(text) >= 0) return { ...value };',
  },
  'S-59': {
    file: 'server/src/users/user-token.ts',
    line: "return bytes.toString('base64url') === text ? bytes : undefined;",
    without: 'return bytes;',
  },
  'S-60': {
    file: 'server/src/users/user-token.ts',
    line: 'if (!given || more.length > 0 || !isSigned(`${head}.${body}`, given, secrets)) return undefined;',
    without: "if (!given || more.length > 0 || isSigned('', given, secrets)) return undefined;",
  },
  'S-61': {
    file: 'server/src/users/identify-proof.ts',
    line: 'return sub === externalId && isForApp && device === deviceId;',
    without: 'return sub === externalId && isForApp;',
  },
  'S-62': {
    file: 'server/src/users/identify-proof.ts',
    line: 'return !isExpired && !isTooFarAhead && nbf - leewaySeconds <= now;',
    without: 'return !isExpired && nbf - leewaySeconds <= now && !(isTooFarAhead && isExpired);',
  },
  'S-63': {
    file: 'server/src/users/identify-proof.ts',
    line: 'const { sub, aud = appId, device_id: device = isDeviceRequired ? undefined : deviceId } = claims;',
    without: 'const { sub, aud = appId, device_id: device = isDeviceRequired ? deviceId : deviceId } = claims;',
  },
  'S-64': {
    file: 'server/src/users/identify-proof.ts',
    line: "return !isDeviceRequired && isHashOf(claim, of('hash'));",
    without: "return isHashOf(claim, of('hash'));",
  },
  'S-65': {
    file: 'server/src/users/identify-proof.ts',
    line: 'const hashForm = /^[0-9a-f]{64}$/;',
    without: 'const hashForm = /^[0-9a-fA-F]{64}/;',
  },
  'S-66': {
    file: 'server/src/users/identify-proof.ts',
    line: 'const of = (form: SecretForm) => secrets.filter((each) => each.form === form).map(({ secret }) => secret);',
    without: 'const of = (form: SecretForm) => secrets.filter((each) => each.form || form).map(({ secret }) => secret);',
  },
  'S-67': {
    file: 'server/src/users/identify-routes.ts',
    line: "if (!isAllowed) throw new ApiError('identity_check_failed');",
    without: '',
  },
  'S-68': {
    file: 'server/src/devices/register-device.ts',
    line: '!refresh.needsProof || (refresh.proof !== undefined && provesToken(refresh.proof, platform, named.token));',
    without: '!refresh.needsProof || refresh !== undefined;',
  },
  'S-69': {
    file: 'server/src/devices/register-device.ts',
    line: 'return provesToken(proofOf(platform, token.text), platform, stored.token);',
    without: 'return proofOf(platform, token.text) !== undefined;',
  },
  'S-70': {
    file: 'server/src/devices/register-device.ts',
    line: 'const keepsToken = request.byClient && !hasNewToken;',
    without: 'const keepsToken = request.byClient && hasNewToken;',
  },
  'S-71': {
    file: 'server/src/devices/routes.ts',
    line: "access: 'server',",
    without: "access: 'client-or-server',",
  },
  'S-72': {
    file: 'server/src/devices/routes.ts',
    line: "const isServer = caller.scope === 'server';",
    without: 'const isServer = caller.scope.length > 0;',
  },
  'S-73': {
    file: 'server/src/devices/queries.ts',
    line: "UPDATE devices SET status = 'unsubscribed', status_reason = NULL, token = NULL, token_hint = NULL, mismatches = 0,",
    without: "UPDATE devices SET status = 'unsubscribed', status_reason = NULL, mismatches = 0,",
  },
  'S-74': {
    file: 'server/src/quotas/address-limit.ts',
    line: 'refuseUnless(waitMs, `${newDevicesPerMinute} new devices per minute of an address`);',
    without: '',
  },
  'S-75': {
    file: 'server/src/outbound/push-hosts.ts',
    line: 'if (patterns.some((pattern) => pattern.host.test(host) && path.startsWith(pattern.path))) return null;',
    without: 'if (patterns.some((pattern) => pattern.host.test(host))) return null;',
  },
  'S-76': {
    file: 'server/src/channels/webpush/endpoint.ts',
    line: "if ('issues' in parsed || isOnCurve(parsed.subscription.p256dh)) return parsed;",
    without: "if ('issues' in parsed || isOnCurve(parsed.subscription.p256dh) || true) return parsed;",
  },
  'S-77': {
    file: 'server/src/channels/webpush/endpoint.ts',
    line: 'if (unknown.length === 0) return;',
    without: 'if (unknown.length >= 0) return;',
  },
  'S-78': {
    file: 'server/src/users/make-room.ts',
    line: 'if (unreached === undefined && byClient) throw tooMany();',
    without: '',
  },
  'S-79': {
    file: 'server/src/delivery/targets.ts',
    line: 'isStranger: strangers.has(deviceId),',
    without: 'isStranger: strangers.has(deviceId) && unreached.size > 1000,',
  },
  'S-80': {
    file: 'server/src/events/check-client-events.ts',
    line: 'if (issues.length > 0) throw invalid(issues);',
    without: '',
  },
  'S-81': {
    file: 'server/src/events/event-names.ts',
    line: 'const ofClients = Math.max(0, namesByClientsMax - (await countClientNames(tx, appId)));',
    without: 'const ofClients = namesByClientsMax;',
  },
  'S-82': {
    file: 'server/src/events/event-keys.ts',
    line: 'if (ofName.byClients >= limit) {',
    without: 'if (ofName.byClients >= limit * 10) {',
  },
  'S-83': {
    file: 'server/src/events/known-properties.ts',
    line: 'const sample = isScalar(value) && !byClient ? sampleOf(value) : null;',
    without: 'const sample = isScalar(value) ? sampleOf(value) : null;',
  },
  'S-84': {
    file: 'server/src/events/check-client-events.ts',
    line: "const purchase = clientEvents.purchases ? -1 : events.findIndex(({ name }) => name === 'purchase');",
    without: "const purchase = clientEvents.purchases ? -1 : events.findIndex(({ name }) => name === '');",
  },
  'S-85': {
    file: 'server/src/http/request-body.ts',
    line: 'const bytesMax = Math.min(limits.bytesMax, allowance?.bytesMax ?? limits.bytesMax);',
    without: 'const bytesMax = limits.bytesMax;',
  },
  'S-86': {
    file: 'server/src/quotas/body-limit.ts',
    line: 'const burstBytes = 2 * bytesPerSecond;',
    without: 'const burstBytes = 2000 * bytesPerSecond;',
  },
  'S-87': {
    file: 'server/src/ground/seal.ts',
    line: 'return Buffer.concat([decipher.update(bytes.subarray(0, -tagLength)), decipher.final()]);',
    without: 'return decipher.update(bytes.subarray(0, -tagLength));',
  },
  'S-88': {
    file: 'server/src/ground/seal.ts',
    line: 'return Buffer.from(`${table}|${column}|${rowId}|${appId}`);',
    without: "return Buffer.from([table, column, rowId, appId].length === 4 ? 'carillon' : '');",
  },
  'S-89': {
    file: 'server/src/ground/seal.ts',
    line: 'const nonce = randomBytes(nonceLength);',
    without: 'const nonce = Buffer.alloc(nonceLength, randomBytes(1));',
  },
  'S-90': {
    file: 'server/src/process/master-key.ts',
    line: 'if (isSealed) {',
    without: "if (isSealed && dataDir === '') {",
  },
  'S-91': {
    file: 'server/src/accounts/factor-seal.ts',
    line: "const placeOf = (rowId: string, column: Column) => ({ table: 'second_factors', column, rowId, appId: '' });",
    without: "const placeOf = (rowId: string, _column: Column) => ({ table: 'second_factors', column: '', rowId: rowId && '', appId: '' });",
  },
  'S-92': {
    file: 'server/src/ground/log.ts',
    line: "const redact = { paths: redactedPaths, censor: '[redacted]' };",
    without: "const redact = { paths: redactedPaths.slice(-2), censor: '[redacted]' };",
  },
  'S-93': {
    file: 'server/src/ground/log.ts',
    line: "'err.detail',",
    without: '',
  },
  'S-94': {
    file: 'server/src/ground/file-modes.ts',
    line: "return mode === undefined || (mode & 0o077) === 0 ? [] : [{ path, mode: mode.toString(8).padStart(4, '0') }];",
    without: "return mode === undefined || (mode & 0o007) === 0 ? [] : [{ path, mode: mode.toString(8).padStart(4, '0') }];",
  },
  'S-95': {
    file: 'server/src/embedded-postgres/data-directory.ts',
    line: 'const folderMode = process.getuid?.() === 0 ? 0o711 : 0o700;',
    without: 'const folderMode = 0o755;',
  },
  'S-96': {
    file: 'server/src/database/address.ts',
    line: 'if (names.every(isHere) || !(isPlain(tls) || isUnverified(tls))) return undefined;',
    without: 'if (names.every(isHere) || !isPlain(tls)) return undefined;',
  },
  'S-97': {
    file: 'server/src/embedded-postgres/backup-signature.ts',
    line: "return { is: timingSafeEqual(found.mac.digest(), signature.mac) ? 'signed' : 'altered' };",
    without: "return { is: found.mac.digest().length === signature.mac.length ? 'signed' : 'altered' };",
  },
  'S-98': {
    file: 'server/src/embedded-postgres/restore.ts',
    line: 'if (acceptsUnsigned) return false;',
    without: "if (acceptsUnsigned || file !== '') return false;",
  },
  'S-99': {
    file: 'server/src/embedded-postgres/cluster.ts',
    line: 'await rm(unfinished, { recursive: true, force: true });',
    without: '',
  },
  'S-100': {
    file: 'server/src/embedded-postgres/backup-file.ts',
    line: "const handle = await open(unfinished, 'wx', 0o600).catch(asBackupError(file));",
    without: "const handle = await open(unfinished, 'wx', 0o644).catch(asBackupError(file));",
  },
  'S-101': {
    file: 'server/src/embedded-postgres/restore.ts',
    line: 'if (strangers.length === 0) return;',
    without: 'if (strangers.length >= 0) return;',
  },
  'S-102': {
    file: 'server/src/outbound/address-guard.ts',
    line: 'export function isPublicAddress(text: string): boolean {',
    without: 'export function isPublicAddress(text: string): boolean { if (isIP(text) > 0) return true;',
  },
  'S-103': {
    file: 'server/src/outbound/address-guard.ts',
    line: 'if (!found.every(({ address }) => permits(address))) throw new BlockedAddressError();',
    without: 'if (!found.some(({ address }) => permits(address))) throw new BlockedAddressError();',
  },
  'S-104': {
    file: 'server/src/outbound/address-guard.ts',
    line: 'if (!found.every(({ address }) => permits(address))) throw new BlockedAddressError();',
    without: '',
  },
  'S-105': {
    file: 'server/src/outbound/socket.ts',
    line: "if (!guard.permits(socket.remoteAddress ?? '')) socket.destroy(new BlockedAddressError());",
    without: '',
  },
  'S-106': {
    file: 'server/src/outbound/socket.ts',
    line: 'if (isIP(host) !== 0 && !guard.permits(host)) return failedSocket(new BlockedAddressError());',
    without: '',
  },
  'S-107': {
    file: 'server/src/outbound/url.ts',
    line: 'return hostProblem(host, port, rules) ?? { url, host, port };',
    without: 'return { url, host, port };',
  },
  'S-108': {
    file: 'server/src/outbound/socket.ts',
    line: 'checkServerIdentity: (_name, certificate) => checkServerIdentity(origin.host, certificate),',
    without: 'checkServerIdentity: () => undefined,',
  },
  'S-109': {
    file: 'server/src/outbound/socket.ts',
    line: 'rejectUnauthorized: true,',
    without: '',
  },
  'S-110': {
    file: 'server/src/outbound/socket.ts',
    line: "minVersion: 'TLSv1.2',",
    without: "minVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0',",
  },
  'S-111': {
    file: 'server/src/outbound/url.ts',
    line: 'if (!/^https:\\/\\/[^/\\\\?#]/i.test(text) || /[\\s\\p{Cc}\\\\]/u.test(text)) {',
    without: 'if (!/^https?:\\/\\/[^/\\\\?#]/i.test(text) || /[\\s\\p{Cc}\\\\]/u.test(text)) {',
  },
  'S-112': {
    file: 'server/src/outbound/url.ts',
    line: "if (url.username !== '' || url.password !== '') return problem('invalid_value', 'It must not carry credentials.');",
    without: '',
  },
  'S-113': {
    file: 'server/src/outbound/url.ts',
    line: 'if (!isUsualPort && !rules.exceptions.allowPorts.some(([from, to]) => from <= port && port <= to)) {',
    without: 'if (!isUsualPort && rules.exceptions.allowPorts.some(([from, to]) => from <= port && port <= to)) {',
  },
  'S-114': {
    file: 'server/src/outbound/url.ts',
    line: 'return labels.length < 2 || privateSuffixes.some((suffix) => host === suffix || host.endsWith(`.${suffix}`));',
    without: 'return labels.length < 2 && privateSuffixes.some((suffix) => host === suffix || host.endsWith(`.${suffix}`));',
  },
  'S-115': {
    file: 'server/src/outbound/url.ts',
    line: "if (ownHosts.includes(host)) return problem('host_not_allowed', 'The service does not call itself.');",
    without: '',
  },
  'S-116': {
    file: 'server/src/webhooks/endpoint-url.ts',
    line: "if ('url' in judged) return judged.url.href;",
    without: "if ('url' in judged || text !== '') return text;",
  },
  'S-117': {
    file: 'server/src/outbound/capped-body.ts',
    line: 'return this.#readBytes <= this.#limits.readMax;',
    without: 'return this.#readBytes >= 0;',
  },
  'S-118': {
    file: 'server/src/channels/fcm/credential.ts',
    line: 'if (file.token_uri !== googleTokenUrl && file.token_uri !== tokenUrl) {',
    without: "if (file.token_uri === '') {",
  },
  'S-119': {
    file: 'server/src/webhooks/signature.ts',
    line: "const mac = createHmac('sha256', Buffer.from(secret, 'utf8')).update(`${unixSeconds}.`).update(body).digest('hex');",
    without: "const mac = createHmac('sha256', Buffer.from(secret, 'utf8')).update(body).digest('hex');",
  },
  'S-120': {
    file: 'node/src/verify-webhook.ts',
    line: 'if (!signatures.some((given) => wanted.some((one) => isSame(given, one)))) {',
    without: 'if (!signatures.some((given) => wanted.some((one) => given.length === one.length))) {',
  },
  'S-121': {
    file: 'node/src/verify-webhook.ts',
    line: 'if (Math.abs(ageSeconds) > toleranceSeconds) {',
    without: 'if (Math.abs(ageSeconds) > toleranceSeconds * 1000) {',
  },
  'S-122': {
    file: 'server/src/delivery/receipt-token.ts',
    line: 'return keys.some((key) => timingSafeEqual(macOf(key, signed), mac)) ? signed : undefined;',
    without: 'return keys.some((key) => macOf(key, signed).length === mac.length) ? signed : undefined;',
  },
  'S-123': {
    file: 'server/src/receipts/routes.ts',
    line: 'addressLimits.admitAnonymous(address);',
    without: '',
  },
  'S-124': {
    file: 'server/src/receipts/routes.ts',
    line: 'addressLimits.admitToken(token);',
    without: '',
  },
  'S-125': {
    file: 'server/src/http/request-body.ts',
    line: 'const bytesMax = Math.min(limits.bytesMax, allowance?.bytesMax ?? limits.bytesMax);',
    without: 'const bytesMax = 1e9 + Math.min(limits.bytesMax, allowance?.bytesMax ?? limits.bytesMax);',
  },
  'S-126': {
    file: 'server/src/http/server.ts',
    line: 'const publicBodyBytesDefault = 1024;',
    without: 'const publicBodyBytesDefault = 1024 * 1024;',
  },
  'S-127': {
    file: 'server/src/http/scan-json.ts',
    line: 'const depthMax = 32;',
    without: 'const depthMax = 3200;',
  },
  'S-128': {
    file: 'server/src/http/scan-json.ts',
    line: 'const membersMax = 1000;',
    without: 'const membersMax = 1_000_000;',
  },
  'S-129': {
    file: 'server/src/http/json.ts',
    line: 'if (escapeOfBadString.test(text)) {',
    without: "if (escapeOfBadString.test('')) {",
  },
  'S-130': {
    file: 'server/src/http/server.ts',
    line: "if (request.raw.httpVersion === '1.1' && headerValues(request.raw, 'host').length !== 1) {",
    without: "if (request.raw.httpVersion === '1.2' && headerValues(request.raw, 'host').length !== 1) {",
  },
  'S-131': {
    file: 'server/src/http/route.ts',
    line: 'const noQuery = z.strictObject({});',
    without: 'const noQuery = z.object({});',
  },
  'S-132': {
    file: 'server/src/http/server.ts',
    line: "return new ApiError('internal_error', { cause: error });",
    without: "return new ApiError('internal_error', { message: String(error), cause: error });",
  },
  'S-133': {
    file: 'server/src/http/server.ts',
    line: "reply.code(error.status).header('x-request-id', request.id).header('x-content-type-options', 'nosniff'),",
    without: "reply.code(error.status).header('x-request-id', request.id).removeHeader('x-content-type-options'),",
  },
  'S-134': {
    file: 'server/src/content/template-grammar.ts',
    line: "throw new TemplateSyntaxError(`There is no tag '${clip(name)}'.`, tagNames);",
    without: 'return;',
  },
  'S-135': {
    file: 'server/src/content/template.ts',
    line: 'url: (value) => percentEncode(textOf(value)),',
    without: 'url: (value) => textOf(value),',
  },
  'S-136': {
    file: 'server/src/content/content-url.ts',
    line: "if (hasTags && end === '') return literalOrigin;",
    without: '',
  },
  'S-137': {
    file: 'server/src/content/content-url.ts',
    line: "if (refusedSchemes.has(scheme)) return `The scheme '${scheme}' is not allowed.`;",
    without: '',
  },
  'S-138': {
    file: 'server/src/database/statement.ts',
    line: 'parts.text += `$${parts.types.push(typeOf(value))}`;',
    without: "parts.text += `'${String(value)}'`;",
  },
  'S-139': {
    file: 'server/src/database/statement.ts',
    line: "const quoteName = (name: string): string => `\"${name.replaceAll('\"', '\"\"').replaceAll('.', '\".\"')}\"`;",
    without: 'const quoteName = (name: string): string => name;',
  },
  'S-140': {
    file: 'server/src/ground/csv.ts',
    line: "return beginsFormula.test(text) ? `'${text}` : text;",
    without: 'return text;',
  },
  'S-141': {
    file: 'console/src/ui/csv.ts',
    line: "const text = beginsFormula.test(cell) ? `'${cell}` : cell;",
    without: 'const text = cell;',
  },
  'S-142': {
    file: 'server/src/devices/queries.ts',
    line: 'SELECT ${lockedColumns(tx)} FROM devices WHERE app_id = ${appId} AND id = ${id} FOR UPDATE`;',
    without: 'SELECT ${lockedColumns(tx)} FROM devices WHERE ${appId}::uuid IS NOT NULL AND id = ${id} FOR UPDATE`;',
  },
  'S-143': {
    file: 'server/src/devices/queries.ts',
    line: 'SELECT platform, token, token_hash FROM devices WHERE app_id = ${appId} AND id = ${id}`;',
    without: 'SELECT platform, token, token_hash FROM devices WHERE id = ${id}`;',
  },
  'S-144': {
    file: 'server/src/http/page.ts',
    line: "const mac = createHmac('sha256', key).update(JSON.stringify(scope)).update('\\n').update(payload).digest();",
    without: "const mac = createHmac('sha256', key).update(JSON.stringify(scope.length)).update('\\n').update(payload).digest();",
  },
  'S-145': {
    file: 'server/src/http/page.ts',
    line: 'if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) throw invalid([invalidCursor]);',
    without: 'if (given.length !== wanted.length && timingSafeEqual(wanted, wanted)) throw invalid([invalidCursor]);',
  },
  'S-146': {
    file: 'server/src/messages/queries.ts',
    line: 'SELECT id, fingerprint, run_at FROM messages WHERE app_id = ${appId} AND idempotency_key = ${key}`;',
    without: 'SELECT id, fingerprint, run_at FROM messages WHERE ${appId}::uuid IS NOT NULL AND idempotency_key = ${key}`;',
  },
  'S-147': {
    file: 'server/src/http/cors.ts',
    line: "return route.access !== 'server' && route.path.startsWith('/v1/');",
    without: "return route.path.startsWith('/');",
  },
  'S-148': {
    file: 'server/src/http/server.ts',
    line: 'if (admission?.refusal) throw admission.refusal;',
    without: '',
  },
  'S-149': {
    file: 'server/src/quotas/queries.ts',
    line: 'WHERE ${limit}::bigint IS NULL OR usage.used + excluded.used <= ${limit}::bigint',
    without: 'WHERE ${limit}::bigint IS NULL OR usage.used + excluded.used >= 0',
  },
  'S-150': {
    file: 'server/src/http/client-address.ts',
    line: 'if (!peer.isTrusted) return { address, isForwardingIgnored: true, peer };',
    without: '',
  },
  'S-151': {
    file: 'server/src/http/client-address.ts',
    line: 'if (!isTrusted(text)) break;',
    without: '',
  },
  'S-152': {
    file: 'server/src/http/client-address.ts',
    line: "return [first, second, third, fourth].map((part) => part.toString(16)).join(':');",
    without: "return [first, second, third, fourth, text].join(':');",
  },
  'S-153': {
    file: 'server/src/http/server.ts',
    line: 'const isKept = bodies.take(app, count, bodyBytesMax);',
    without: 'const isKept = bodies.take(app, count, bodyBytesMax) || count > 0;',
  },
  'S-154': {
    file: 'server/src/http/server.ts',
    line: 'server.server.maxConnections = connectionsMax;',
    without: '',
  },
  'S-155': {
    file: 'server/package.json',
    line: '"zod": "4.6.7"',
    without: '"zod": "^4.6.7"',
  },
  'S-156': {
    file: 'package-lock.json',
    line: '"integrity": "sha512-moP8exb2sCHLUbJkwp+I6C0padhy4D8lp0SdmzY7HhSdZuqm7O/u3o2aq7u8okaQ//33QDzj3G/u+FsSdB8Qzw==",',
    without: '',
  },
  'S-157': {
    file: 'deploy/Dockerfile',
    line: 'RUN npm ci --ignore-scripts --no-audit --no-fund',
    without: 'RUN npm ci --no-audit --no-fund',
  },
  'S-158': {
    file: 'tools/secret-patterns.ts',
    line: "{ kind: 'Carillon key', form: /\\b(?:sk|ck|ot)_live_[0-9A-Za-z]{49}\\b/g, isReal: hasChecksum },",
    without: "{ kind: 'Carillon key', form: /\\b(?:sk)_live_[0-9A-Za-z]{49}\\b/g, isReal: hasChecksum },",
  },
  'S-159': {
    file: 'server/src/embedded-postgres/access.ts',
    line: "const hba = [`local all ${role} ${local}`, 'host all all 127.0.0.1/32 scram-sha-256'];",
    without: "const hba = [`local all ${role} ${local}`, 'host all all 127.0.0.1/32 trust'];",
  },
};
