// The cookie of a session (contract 19, R-50). With https it has the prefix `__Host-`. Plain http
// carries a session only to this very machine, because everybody on the way could read it. Pure.
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

/** The way on which a request came. */
export interface Way {
  /** The Host header. */
  readonly host: string | undefined;
  /** A header says that a proxy passed the request on: its client may be another machine. */
  readonly isForwarded: boolean;
}

/**
 * Returns the form of the cookie. Null: no session is given, because the console is reached over
 * plain http from another machine. The peer's address says nothing about that: in a container this
 * very machine has the address of the bridge, and a proxy on this machine has a loopback address.
 */
export function cookieFormOf(publicUrl: string | null, { host, isForwarded }: Way): CookieForm | null {
  const url = publicUrl === null ? undefined : new URL(publicUrl);
  if (url?.protocol === 'https:') return secure;
  const isOnLoopback = !isForwarded && isLoopback(hostNameOf(host)) && (url === undefined || isLoopback(url.hostname));
  return isOnLoopback ? onLoopback : null;
}

/** Writes `Set-Cookie` for a session or for a step of a sign-in. */
export function writeCookie(form: CookieForm, token: string, maxAgeSeconds = sessionDaysMax * 86_400): string {
  return `${form.name}=${token}; ${form.attributes}; Max-Age=${maxAgeSeconds}`;
}

/** Writes `Set-Cookie` that makes the browser forget the cookie. */
export function clearCookie(form: CookieForm): string {
  return writeCookie(form, '', 0);
}

/** Reads a cookie out of the Cookie headers of a request; undefined when none of them has it. */
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

/** The cookie between password and second factor: of the same form, under another name. */
export function stepFormOf(form: CookieForm): CookieForm {
  return { ...form, name: form.name.replace('session', 'step') };
}
