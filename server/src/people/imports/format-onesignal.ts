// OneSignal's CSV of subscriptions, as its documentation describes it
// (documentation.onesignal.com/reference/csv-export). Each line is a subscription, with tags as
// JSON in a cell. The keys of browsers are included only when the export requested `web_auth` and
// `web_p256`. Pure.
import {
  cellsOf,
  emptyRow,
  type Format,
  type GivenRow,
  localeOf,
  looseInstant,
  present,
  Refused,
  readForeignJson,
} from './given-row.ts';

type Row = Readonly<Record<string, string>>;

/**
 * By the number that OneSignal's API gives each type of device. Other types have no channel here.
 */
const platforms: Readonly<Record<string, { readonly platform: string; readonly os?: string }>> = {
  '0': { platform: 'ios', os: 'iOS' },
  '1': { platform: 'android', os: 'Android' },
  '5': { platform: 'web' },
  '7': { platform: 'web', os: 'macOS' },
  '8': { platform: 'web' },
  '17': { platform: 'web' },
};

/** Returns undefined when the columns are not OneSignal's. */
export function oneSignalCsv(header: readonly string[]): Format<readonly string[]> | undefined {
  if (!['identifier', 'device_type', 'invalid_identifier'].every((name) => header.includes(name))) return undefined;
  return {
    name: 'OneSignal CSV',
    read: (cells) => [readRow(Object.fromEntries(header.map((name, i) => [name, cells[i] ?? ''])))],
  };
}

function readRow(row: Row): GivenRow {
  const type = row['device_type'] ?? '';
  const kind = Object.hasOwn(platforms, type) ? platforms[type] : undefined;
  if (!kind) throw new Refused(`Carillon has no channel for OneSignal's device type '${type.slice(0, 20)}'.`);
  if (/^t(rue)?$/i.test(row['invalid_identifier'] ?? '')) throw new Refused('OneSignal calls its identifier invalid.');
  // 0: the device permits no notifications; negative: opted out, or never asked.
  if (/^(?:-|0$)/.test(row['notification_types'] ?? '')) throw new Refused('This device has opted out.');
  const { identifier, language, country, web_p256: p256dh, web_auth: auth } = row;
  const isWeb = kind.platform === 'web';
  const externalId = row['external_user_id'];
  const dropped: string[] = [];
  const tags = cellsOf(readForeignJson('tags', row['tags'], dropped));
  return {
    ...emptyRow,
    isForeign: true,
    createdAt: looseInstant('created_at', row['created_at'], dropped),
    lastSeenAt: looseInstant('last_active', row['last_active'], dropped),
    device: present({
      platform: kind.platform,
      token: isWeb ? { endpoint: identifier, keys: present({ p256dh, auth }) } : identifier,
      locale: localeOf(language, country),
      timezone: row['timezone_id'],
      app_version: row['game_version'],
      os: kind.os,
      // For a browser, OneSignal's `device_os` is the browser's version.
      os_version: isWeb ? undefined : row['device_os'],
      model: row['device_model'],
    }),
    user: externalId ? present({ external_id: externalId, country, language, timezone: row['timezone_id'] }) : null,
    // Tags belong to the user when the row names one.
    ...(externalId ? { userCells: tags } : { deviceCells: tags }),
    dropped,
  };
}
