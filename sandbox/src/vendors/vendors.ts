// The table of the personalities, and which of them a request is for.
import { apple } from './apple.ts';
import { fcm } from './fcm.ts';
import { generic } from './generic.ts';
import { mozilla } from './mozilla.ts';
import type { Personality, VendorName } from './vendor.ts';
import { wns } from './wns.ts';

export const VENDORS: Readonly<Record<VendorName, Personality>> = { generic, fcm, mozilla, apple, wns };

export const VENDOR_NAMES: readonly VendorName[] = ['generic', 'fcm', 'mozilla', 'apple', 'wns'];

/** The personality of that name; the one without quirks for any other name. */
export function personality(name: string): Personality {
  const known = VENDOR_NAMES.find((each) => each === name);
  return VENDORS[known ?? 'generic'];
}

/** Whose endpoint a path is, and its token. Apple's is one bare segment, so it is asked last. */
export function readEndpoint(path: string): { vendor: Personality; token: string } | undefined {
  for (const vendor of [generic, fcm, mozilla, wns, apple]) {
    const token = vendor.readToken(path);
    if (token !== undefined) return { vendor, token };
  }
  return undefined;
}

/** Whose host it is, for words in the vendor's own manner when the path says nothing. */
export function vendorOfHost(host: string): Personality {
  return VENDOR_NAMES.map((name) => VENDORS[name]).find((vendor) => vendor.isHost(host)) ?? generic;
}
