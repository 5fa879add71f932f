// The names of all addressees of a request, as used by faults, counters and the inbox: the
// browsers' vendors, the two platforms of phones, and Google's token endpoint.
import type { VendorName } from './vendors/vendor.ts';
import { vendorNames } from './vendors/vendors.ts';

export type PhoneSenderName = 'apns' | 'fcm_v1' | 'google_oauth';
export type SenderName = VendorName | PhoneSenderName;

export const senderNames: readonly SenderName[] = [...vendorNames, 'apns', 'fcm_v1', 'google_oauth'];
