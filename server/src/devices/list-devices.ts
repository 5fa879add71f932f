// A page of devices with the names of the properties they hold.
import type { Sql } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { Property } from '../properties/property.ts';
import { readCatalog } from '../properties/queries.ts';
import { type DeviceFilters, type ListedDevice, listDevices } from './queries.ts';

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
