// The push services of the browsers: which vendor owns a host, and which form its endpoints have
// (contract 8). Client keys are in strangers' hands, so a registration is judged by host and path.
// Devices that are already stored may have any host of their vendor. A vendor's new form is one
// line in `vendorForms`. Pure.

export type PushVendor = 'google' | 'mozilla' | 'apple' | 'microsoft' | 'other';

interface VendorForm {
  readonly vendor: PushVendor;
  /** The host as subscriptions name it. */
  readonly host: RegExp;
  /** The possible beginnings of the path; an empty list allows any path. */
  readonly paths: readonly string[];
  /** The form as an error message shows it. */
  readonly form: string;
}

const vendorForms: readonly VendorForm[] = [
  {
    vendor: 'google',
    host: /^fcm\.googleapis\.com$/,
    paths: ['/fcm/send/', '/wp/'],
    form: 'https://fcm.googleapis.com/fcm/send/… or https://fcm.googleapis.com/wp/…',
  },
  { vendor: 'google', host: /^android\.googleapis\.com$/, paths: [], form: 'https://android.googleapis.com/…' },
  { vendor: 'google', host: /^jmt17\.google\.com$/, paths: [], form: 'https://jmt17.google.com/…' },
  {
    vendor: 'mozilla',
    host: /^updates\.push\.services\.mozilla\.com$/,
    paths: ['/wpush/'],
    form: 'https://updates.push.services.mozilla.com/wpush/…',
  },
  { vendor: 'apple', host: /\.push\.apple\.com$/, paths: [], form: 'https://….push.apple.com/…' },
  {
    vendor: 'microsoft',
    host: /^wns2-[a-z0-9]+\.notify\.windows\.com$/,
    paths: ['/w/'],
    form: 'https://wns2-….notify.windows.com/w/…, with letters and digits after wns2-',
  },
];

/** Names that belong to a vendor, whatever form its endpoints have or had. */
const vendorDomains: readonly (readonly [domain: string, vendor: PushVendor])[] = [
  ['fcm.googleapis.com', 'google'],
  ['android.googleapis.com', 'google'],
  ['jmt17.google.com', 'google'],
  ['.push.services.mozilla.com', 'mozilla'],
  ['.push.apple.com', 'apple'],
  ['.notify.windows.com', 'microsoft'],
];

/**
 * The vendor of a push service's host. Vendors differ in what they accept and in how they refuse.
 */
export function vendorOf(host: string): PushVendor {
  const found = vendorDomains.find(([domain]) => (domain.startsWith('.') ? host.endsWith(domain) : host === domain));
  return found?.[1] ?? 'other';
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
  const vendor = vendorOf(host);
  if (vendor === 'other') return `'${host}' is not a known push service; an operator may add it by PUSH_HOSTS.`;
  const fits = vendorForms.some(
    (form) => form.host.test(host) && (form.paths.length === 0 || form.paths.some((start) => path.startsWith(start))),
  );
  if (fits) return null;
  const forms = vendorForms.filter((form) => form.vendor === vendor).map(({ form }) => form);
  return `'${host}' gives no such endpoint. The form is ${forms.join(' or ')}.`;
}

/** `PUSH_HOSTS` holds names, `*.` for any name beneath a domain, and `*` for any host. */
function isOperatorHost(host: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    if (pattern === '*' || pattern.toLowerCase() === host) return true;
    return pattern.startsWith('*.') && host.endsWith(pattern.slice(1).toLowerCase());
  });
}
