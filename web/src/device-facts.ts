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
 * The facts of this browser. A fact is left out when the browser does not tell it or tells it in a
 * form that the service would refuse.
 */
export function detectFacts(): DeviceFacts {
  const locale = localeOf(navigator.language);
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const hinted = (navigator as Navigator & { userAgentData?: { platform?: string } }).userAgentData?.platform;
  const os = hinted || osOf(navigator.userAgent, navigator.maxTouchPoints ?? 0);
  return { sdk, ...(locale && { locale }), ...(timezone && { timezone }), ...(os && { os }) };
}

/**
 * Browsers report tags such as `en-US-posix` or `zh-Hant`. The service accepts
 * language[-script]-REGION or a bare language.
 */
export function localeOf(tag: string | undefined): string | undefined {
  try {
    const { language, script, region } = new Intl.Locale(tag ?? '');
    return region ? [language, script, region].filter(Boolean).join('-') : language;
  } catch {
    return undefined;
  }
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
