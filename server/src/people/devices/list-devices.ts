// A page of devices with the catalog entries of their properties, and the form in which answers
// show a device.

import type { Sql } from '@carillon/postgres';
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import { channelOfPlatform } from '../../sending/channels/channel.ts';
import type { DeviceFacts } from '../audience/device-facts.ts';
import { type Property, presentProperties } from '../properties/property.ts';
import { readCatalog } from '../properties/queries.ts';
import {
  type DeviceFilters,
  findShownDevice,
  type ListedDevice,
  listDevices,
  type ShownDevice,
} from './listed-queries.ts';

export interface DeviceOnPage extends ListedDevice {
  readonly catalog: ReadonlyMap<number, Property>;
}

export async function listDevicePage(
  sql: Sql,
  appId: Uuid,
  filters: DeviceFilters,
  after: { createdAt: Date; id: Uuid } | null,
  limit: number,
): Promise<DeviceOnPage[]> {
  const devices = await listDevices(sql, appId, filters, after, limit);
  const numbers = new Set(devices.flatMap((device) => Object.keys(device.properties).map(Number)));
  const catalog = numbers.size === 0 ? new Map<number, Property>() : await readCatalog(sql, appId, [...numbers]);
  return devices.map((device) => ({ ...device, catalog }));
}

/** One device as a page would hold it, and more; undefined when the app has no such device. */
export async function findDeviceOnPage(
  sql: Sql,
  appId: Uuid,
  id: Uuid,
): Promise<(DeviceOnPage & ShownDevice) | undefined> {
  const device = await findShownDevice(sql, appId, id);
  if (!device) return undefined;
  const numbers = Object.keys(device.properties).map(Number);
  return { ...device, catalog: numbers.length === 0 ? new Map() : await readCatalog(sql, appId, numbers) };
}

/** A device as GET /v1/devices shows it: only the last characters of the token. */
export function presentListed(device: DeviceOnPage) {
  return {
    id: encodeId('dev', device.id),
    platform: device.platform,
    channel: channelOfPlatform[device.platform],
    token_hint: device.tokenHint,
    ...presentFacts(device),
    environment: device.environment,
    status: device.status,
    status_reason: device.statusReason,
    external_id: device.externalId,
    properties: presentProperties(device.properties, device.catalog),
    created_at: device.createdAt,
    last_seen_at: device.lastSeenAt,
  };
}

/** The facts that a device reports about itself, as answers show them. */
export function presentFacts(facts: DeviceFacts) {
  return {
    locale: facts.locale,
    timezone: facts.timezone,
    app_version: facts.appVersion,
    sdk: facts.sdk,
    os: facts.os,
    os_version: facts.osVersion,
    model: facts.model,
  };
}
