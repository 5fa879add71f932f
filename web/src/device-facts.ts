// The facts that a browser tells about itself, in the service's words (contract 8). It reads
// navigator and Intl and changes nothing.
import type { GivenFacts } from './device-id.ts';

/** Kept equal to package.json by a test. */
export const sdk = 'carillon-web/0.1.0';

export interface DeviceFacts extends GivenFacts {
  readonly sdk: string;
  readonly os?: string;
}

/**
 * The facts of this browser, as it tells them. The service reads every form of a locale. A fact is
 * left out when the browser does not tell it.
 */
export function detectFacts(): DeviceFacts {
  const locale = navigator.language;
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const hinted = (navigator as Navigator & { userAgentData?: { platform?: string } }).userAgentData?.platform;
  const os = hinted || osOf(navigator.userAgent, navigator.maxTouchPoints ?? 0);
  return { sdk, ...(locale && { locale }), ...(timezone && { timezone }), ...(os && { os }) };
}

/**
 * Safari and Firefox give no platform hint, so their user agent is read. An iPad calls itself a Mac
 * but has a touch screen.
 */
export function osOf(userAgent: string, touchPoints: number): string | undefined {
  if (userAgent.includes('Windows')) return 'Windows';
  if (userAgent.includes('Android')) return 'Android';
  if (/iPhone|iPad|iPod/.test(userAgent)) return 'iOS';
  if (userAgent.includes('Macintosh')) return touchPoints > 1 ? 'iOS' : 'macOS';
  if (userAgent.includes('CrOS')) return 'Chrome OS';
  return userAgent.includes('Linux') ? 'Linux' : undefined;
}
