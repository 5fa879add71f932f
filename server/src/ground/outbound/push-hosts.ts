// The push services of the browsers: which vendor owns a host, and which form its endpoints have
// (contract 8). Anybody can get a client key, so a registration is checked by host and path.
// Devices that are already stored may have any host of their vendor. A vendor's new form is one
// line in `forms`. Pure.

export type PushVendor = 'google' | 'mozilla' | 'apple' | 'microsoft' | 'other';

type Vendor = Exclude<PushVendor, 'other'>;

/**
 * The vendor, the host, and the beginning of the path. In a host, `*` is one label of letters,
 * digits and hyphens, and `**` is one or more labels.
 */
const forms: readonly (readonly [vendor: Vendor, host: string, path: string])[] = [
  ['google', 'fcm.googleapis.com', '/fcm/send/'],
  ['google', 'fcm.googleapis.com', '/wp/'],
  ['google', 'fcm.googleapis.com', '/preprod/wp/'],
  ['google', 'android.googleapis.com', '/'],
  ['google', 'jmt17.google.com', '/'],
  ['mozilla', 'updates.push.services.mozilla.com', '/wpush/'],
  ['apple', '**.push.apple.com', '/'],
  ['microsoft', '*.notify.windows.com', '/w/'],
];

const patterns = forms.map(([, host, path]) => {
  const labels = host.replaceAll('.', '\\.').replace('**', '.+').replace('*', '[a-z0-9-]+');
  return { host: new RegExp(`^${labels}$`), path };
});

/** Domains in which stored devices may have hosts of any form. */
const storedDomains: readonly (readonly [domain: string, vendor: Vendor])[] = [
  ...forms.map(([vendor, host]) => [host.replace(/^\*+/, ''), vendor] as const),
  ['.push.services.mozilla.com', 'mozilla'],
];

/** Domains of a vendor. The refusal of a host in one of them lists the vendor's forms. */
const ownDomains: readonly (readonly [domain: string, vendor: Vendor])[] = [
  ['.googleapis.com', 'google'],
  ['.google.com', 'google'],
  ['.mozilla.com', 'mozilla'],
  ['.apple.com', 'apple'],
  ['.windows.com', 'microsoft'],
];

/**
 * The vendor of a push service's host. Vendors differ in what they accept and in how they refuse.
 */
export function vendorOf(host: string): PushVendor {
  return ownerOf(host, storedDomains) ?? 'other';
}

/** Whether a form names exactly this host, not a pattern of hosts. */
export function isFixedPushHost(host: string): boolean {
  return forms.some(([, name]) => name === host);
}

function ownerOf(host: string, domains: typeof storedDomains): Vendor | undefined {
  return domains.find(([domain]) => (domain.startsWith('.') ? host.endsWith(domain) : host === domain))?.[1];
}

/** Whether a stored device with this host may receive pushes. */
export function isPushHost(host: string, operatorHosts: readonly string[]): boolean {
  return vendorOf(host) !== 'other' || isOperatorHost(host, operatorHosts);
}

/**
 * The reason why a subscription at this address is not registered, in words; null when it may be.
 * At a host that the operator allowed, every path is accepted.
 */
export function findEndpointFault(host: string, path: string, operatorHosts: readonly string[]): string | null {
  if (isOperatorHost(host, operatorHosts)) return null;
  if (patterns.some((pattern) => pattern.host.test(host) && path.startsWith(pattern.path))) return null;
  const vendor = ownerOf(host, ownDomains);
  if (!vendor) return `'${host}' is not a known push service; an operator may add it by PUSH_HOSTS.`;
  const known = forms.filter(([owner]) => owner === vendor);
  const shown = known.map(([, name, start]) => `https://${name.replace(/^\*+/, '…')}${start}…`);
  return `'${host}' gives no such endpoint. The form is ${shown.join(' or ')}.`;
}

/** `PUSH_HOSTS` holds names, `*.` for any name beneath a domain, and `*` for any host. */
function isOperatorHost(host: string, allowed: readonly string[]): boolean {
  return allowed.some((pattern) => {
    if (pattern === '*' || pattern.toLowerCase() === host) return true;
    return pattern.startsWith('*.') && host.endsWith(pattern.slice(1).toLowerCase());
  });
}
