// The unit of a platform: a number on each audience row, chosen so that the sum over devices tells
// how many devices each platform has. The database computes the column from the platform's name
// (migration 0040). Pure.
import type { Platform } from '../../sending/channels/channel.ts';

/**
 * Bits of a sum that count web devices, below the bits that count iOS devices. No group of counted
 * devices may reach 2^30.
 */
export const webDevicesBits = 30;

/** `platform_unit` of a row. Devices that are counted in neither sum are on the third platform. */
export const platformUnits: Readonly<Record<Platform, number>> = { web: 1, ios: 2 ** webDevicesBits, android: 0 };
