// The cookies of a session (contract 19, R-50). With https they have the prefix `__Host-`. Over
// plain http a session is given only to this machine, because anybody on the way could read it.
// Pure.
import type { Peer } from '../../ground/http/client-address.ts';
import { sessionDaysMax } from './session.ts';

export interface CookieForm {
  readonly name: string;
  readonly attributes: string;
}

const secure: CookieForm = {
  name: '__Host-carillon_session',
  attributes: 'Path=/; HttpOnly; Secure; SameSite=Lax',
};
const onLoopback: CookieForm = { name: 'carillon_session', attributes: 'Path=/; HttpOnly; SameSite=Strict' };

/** How a request arrived. */
export interface Way {
  /** The Host header. */
  readonly host: string | undefined;
  /**
   * True: a header shows that a proxy forwarded the request, so its client may be another machine.
   */
  readonly isForwarded: boolean;
  /** The values of X-Forwarded-Proto. */
  readonly protocols: readonly string[];
  readonly peer: Peer;
}

/**
 * Returns the form of the cookie. Null: no session is given, because the console is reached over
 * plain http from another machine.
 */
export function cookieFormOf(publicUrl: string | null, way: Way): CookieForm | null {
  const url = publicUrl === null ? undefined : new URL(publicUrl);
  if (url?.protocol === 'https:') return isByHttps(way) ? secure : null;
  // The peer's address does not help here, because in a container this machine has the address of
  // the bridge.
  const isOnLoopback =
    !way.isForwarded && isLoopback(hostNameOf(way.host)) && (url === undefined || isLoopback(url.hostname));
  return isOnLoopback ? onLoopback : null;
}

/**
 * The service speaks plain http, and a proxy before it speaks TLS. Only a proxy of TRUSTED_PROXIES
 * is believed. If it does not name the protocol, the protocol of PUBLIC_URL counts.
 */
function isByHttps({ peer, protocols, isForwarded }: Way): boolean {
  if (!peer.isTrusted) return peer.isLoopback && !isForwarded;
  return protocols.every((value) => value.split(',').every((each) => each.trim().toLowerCase() === 'https'));
}

/** Writes `Set-Cookie` for a session or for a step of a sign-in. */
export function writeCookie(form: CookieForm, token: string, maxAgeSeconds = sessionDaysMax * 86_400): string {
  return `${form.name}=${token}; ${form.attributes}; Max-Age=${maxAgeSeconds}`;
}

/** Writes `Set-Cookie` that makes the browser forget the cookie. */
export function clearCookie(form: CookieForm): string {
  return writeCookie(form, '', 0);
}

/** Reads a cookie from the Cookie headers of a request; undefined when no header has it. */
export function readCookie(headers: readonly string[], name: string): string | undefined {
  for (const header of headers) {
    for (const pair of header.split(';')) {
      const at = pair.indexOf('=');
      if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim() || undefined;
    }
  }
  return undefined;
}

function hostNameOf(host: string | undefined): string {
  return (host ?? '').replace(/:\d+$/, '').toLowerCase();
}

function isLoopback(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost') || name === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(name);
}

/** Another cookie of the same form. */
export function formFor(form: CookieForm, use: 'step' | 'browser' | 'oidc' | 'identity'): CookieForm {
  return { ...form, name: form.name.replace('session', use) };
}
