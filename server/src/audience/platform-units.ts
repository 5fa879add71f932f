// A platform as a number on each audience row: so chosen that the sum over some devices says how many of them are of which platform.
// Made by the database from the platform's name (migration 0040), never written here. Pure.
import type { Platform } from '../channels/channel.ts';

/** Devices of the web that a sum has room for, beneath those of iOS: no group of devices may have as many. */
export const webDevicesBits = 30;

/** `platform_unit` of a row. Whoever is counted and is neither is of the third. */
export const platformUnits: Readonly<Record<Platform, number>> = { web: 1, ios: 2 ** webDevicesBits, android: 0 };
