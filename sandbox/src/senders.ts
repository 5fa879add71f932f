// Everyone a request can be for, by the name that faults, counters and the inbox use: the browsers' vendors, and the
// two platforms of phones with Google's token endpoint beside them.
import type { VendorName } from './vendors/vendor.ts';
import { VENDOR_NAMES } from './vendors/vendors.ts';

export type PhoneSenderName = 'apns' | 'fcm_v1' | 'google_oauth';
export type SenderName = VendorName | PhoneSenderName;

export const SENDER_NAMES: readonly SenderName[] = [...VENDOR_NAMES, 'apns', 'fcm_v1', 'google_oauth'];
