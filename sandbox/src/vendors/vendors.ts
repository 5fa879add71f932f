// The table of vendors, and the vendor of a request.
import { apple } from './apple.ts';
import { fcm } from './fcm.ts';
import { generic } from './generic.ts';
import { mozilla } from './mozilla.ts';
import type { Personality, VendorName } from './vendor.ts';
import { wns } from './wns.ts';

export const vendors: Readonly<Record<VendorName, Personality>> = { generic, fcm, mozilla, apple, wns };

export const vendorNames: readonly VendorName[] = ['generic', 'fcm', 'mozilla', 'apple', 'wns'];

/** The vendor of that name; `generic` for an unknown name. */
export function personality(name: string): Personality {
  const known = vendorNames.find((each) => each === name);
  return vendors[known ?? 'generic'];
}

/**
 * The vendor and the token of an endpoint's path. Apple comes last, because its paths are one bare
 * segment.
 */
export function readEndpoint(path: string): { vendor: Personality; token: string } | undefined {
  for (const vendor of [generic, fcm, mozilla, wns, apple]) {
    const token = vendor.readToken(path);
    if (token !== undefined) return { vendor, token };
  }
  return undefined;
}

/** The vendor of a host. It words the answer when the path names no vendor. */
export function vendorOfHost(host: string): Personality {
  return vendorNames.map((name) => vendors[name]).find((vendor) => vendor.isHost(host)) ?? generic;
}
