// Airship's lists of channels and of named users, as GET /api/channels and GET /api/named_users
// answer them (docs.airship.com/developer/rest-api/ua/operations/channels,
// …/operations/named-users). A file has one page after the other, or one object in each line. Pure.

import { isRecord } from '../../ground/values/is-record.ts';
import {
  cellsOf,
  emptyRow,
  type Format,
  type GivenRow,
  localeOf,
  looseInstant,
  present,
  Refused,
  textOf,
} from './given-row.ts';

type Channel = Readonly<Record<string, unknown>>;

const platforms = ['ios', 'android', 'web'];

export const airshipChannels: Format<unknown> = {
  name: 'Airship channels',
  read: (value) => {
    if (!isRecord(value) || !('channel_id' in value)) throw new Refused('It is not a channel: channel_id is missing.');
    return [readChannel(value, textOf(value['named_user_id']))];
  },
};

export const airshipNamedUsers: Format<unknown> = {
  name: 'Airship named users',
  read: (value) => {
    const name = isRecord(value) ? textOf(value['named_user_id']) : undefined;
    if (!isRecord(value) || name === undefined) throw new Refused('It is not a named user: named_user_id is missing.');
    const channels = Array.isArray(value['channels']) ? value['channels'].filter(isRecord) : [];
    const userCells = cellsOf(value['attributes']);
    const user = { ...emptyRow, isForeign: true, user: { external_id: name }, userCells };
    // A channel that cannot be reached is skipped, and the other channels of the user are imported.
    return [user, ...channels.filter(isReachable).map((channel) => readChannel(channel, name))];
  },
};

function isReachable(channel: Channel): boolean {
  return platforms.includes(String(channel['device_type'])) && !hasOptedOut(channel);
}

function hasOptedOut(channel: Channel): boolean {
  return channel['installed'] === false || channel['opt_in'] === false;
}

function readChannel(channel: Channel, externalId: string | undefined): GivenRow {
  const type = textOf(channel['device_type']) ?? '';
  if (!platforms.includes(type)) {
    throw new Refused(`Carillon has no channel for Airship's device type '${type.slice(0, 20)}'.`);
  }
  if (hasOptedOut(channel)) throw new Refused('This device has opted out, or the app is installed there no more.');
  const address = textOf(channel['push_address']);
  const facts = isRecord(channel['device_attributes']) ? channel['device_attributes'] : {};
  const ofPlatform = isRecord(channel[type]) ? channel[type] : {};
  const subscription = isRecord(ofPlatform['subscription']) ? ofPlatform['subscription'] : {};
  const keys = present({
    p256dh: textOf(subscription['p256dh']),
    auth: textOf(subscription['auth']),
  });
  const dropped: string[] = [];
  return {
    ...emptyRow,
    isForeign: true,
    createdAt: looseInstant('created', channel['created'], dropped),
    lastSeenAt: looseInstant('last_registration', channel['last_registration'], dropped),
    device: present({
      platform: type,
      token: type === 'web' ? { endpoint: address, keys } : address,
      locale: localeOf(facts['ua_language'], facts['ua_country']),
      timezone: ofPlatform['tz'],
      app_version: facts['ua_app_version'],
      os_version: facts['ua_device_os'],
      model: facts['ua_device_model'],
    }),
    user: externalId === undefined ? null : { external_id: externalId },
    deviceCells: cellsOf(channel['attributes']),
    dropped,
  };
}
