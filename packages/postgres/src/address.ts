// The address of a database, `postgres://…` in libpq's form: hosts, names, TLS, and settings of the
// session. What it leaves out comes from libpq's environment variables.
import { userInfo } from 'node:os';

/** A value of libpq's `sslmode`; undefined: without TLS. */
export type TlsMode = string | undefined;

export interface Host {
  /** The name or IP address, or the directory of a Unix socket. */
  readonly host: string;
  readonly port: number;
}

export interface DatabaseAddress {
  /** The first host that answers is used. If there are several, a standby is skipped. */
  readonly hosts: readonly Host[];
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly tls: TlsMode;
  /** True: TLS starts without a request. */
  readonly isTlsDirect: boolean;
  /** The parameter `options`, which the server or a proxy reads at the start. */
  readonly startOptions: string | undefined;
  /** Milliseconds; undefined: not named. */
  readonly connectMs: number | undefined;
  /** Parameters that libpq does not know: settings of the session. */
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * Throws when the address cannot be used; the message names the parameter and shows no password.
 */
export function readAddress(url: string): DatabaseAddress {
  const { env } = process;
  // `URL` knows no address with several hosts.
  const [, many = ''] = /^[a-z]+:\/\/(?:[^@/?]*@)?([^/?]*)/.exec(url) ?? [];
  const address = new URL(url.replace(many, many.split(',')[0] ?? ''));
  const parameters = Object.fromEntries(address.searchParams);
  const { host, options, sslmode, ssl, sslrootcert, sslnegotiation, connect_timeout: connectSeconds } = parameters;
  for (const [name, value] of Object.entries(parameters)) check(name, value);
  // `pg` itself reads these two variables.
  if (env['PGSSLMODE']) check('sslmode', env['PGSSLMODE'], 'PGSSLMODE');
  if (env['PGREPLICATION']) check('replication', env['PGREPLICATION'], 'PGREPLICATION');
  const text = host ?? (decodeURIComponent(many) || env['PGHOST'] || 'localhost');
  // A directory may have a comma in its name.
  const named = text.startsWith('/') ? [text] : text.split(',');
  // Each host of the address has its own port.
  const port = host === undefined && named.length > 1 ? '' : address.port || env['PGPORT'];
  const user = decodeURIComponent(address.username) || env['PGUSER'] || userInfo().username;
  const tls = sslrootcert === 'system' ? 'verify-full' : (sslmode ?? ssl ?? env['PGSSLMODE']);
  const isTlsDirect = (sslnegotiation ?? env['PGSSLNEGOTIATION']) === 'direct';
  if (isTlsDirect && (isPlain(tls) || tls === 'allow'))
    throw new Error('DATABASE_URL: sslnegotiation=direct needs sslmode=require or a stricter one.');
  return {
    hosts: named.map((each) => readHost(each, port || '5432')),
    user,
    password: decodeURIComponent(address.password) || env['PGPASSWORD'] || '',
    database: decodeURIComponent(address.pathname.slice(1)) || env['PGDATABASE'] || user,
    tls: tls === 'true' ? 'verify-full' : tls,
    isTlsDirect,
    startOptions: options ?? env['PGOPTIONS'],
    connectMs: Number(connectSeconds) * 1000 || undefined,
    settings: Object.fromEntries(Object.entries(parameters).filter(([name]) => !libpqWords.test(name))),
  };
}

/**
 * Parameters of libpq (PostgreSQL 18 documentation, 32.1.2). The server knows none of them, except
 * `application_name` and `client_encoding`, which are ours to set.
 */
const libpqWords =
  /^(?:host|hostaddr|port|dbname|user|password|passfile|require_auth|channel_binding|connect_timeout|client_encoding|options|(?:fallback_)?application_name|keepalives\w*|tcp_user_timeout|replication|gss\w+|krbsrvname|ssl\w*|requiressl|requirepeer|(?:min|max)_protocol_version|service|servicefile|target_session_attrs|load_balance_hosts|scram_\w+|oauth_\w+)$/;

const tlsWords = /^(?:disable|allow|prefer|require|verify-ca|verify-full)$/;

/** The libpq parameters that are read, or that have the listed value in any case. */
const readable: Readonly<Record<string, RegExp>> = {
  host: /./,
  options: /^/,
  sslmode: tlsWords,
  ssl: new RegExp(`${tlsWords.source}|^true$`),
  sslrootcert: /^system$/,
  sslnegotiation: /^(?:postgres|direct)$/,
  connect_timeout: /^\d+$/,
  target_session_attrs: /^(?:any|read-write|primary)$/,
  client_encoding: /^(?:auto|utf-?8)$/i,
  application_name: /^/,
  fallback_application_name: /^/,
};

function check(name: string, value: string, source = 'DATABASE_URL'): void {
  if (!libpqWords.test(name) || readable[name]?.test(value)) return;
  const hint = name === 'sslrootcert' ? ' NODE_EXTRA_CA_CERTS names a file of authorities.' : '';
  // A value may be a password.
  const what = readable[name] ? `${name}=${value}` : name;
  throw new Error(`${source}: this program cannot follow ${what}. Remove it.${hint}`);
}

function readHost(text: string, port: string): Host {
  if (text.startsWith('/')) return { host: text, port: Number(port) };
  const [, host = text, own = port] = /^(.+?|\[.+\])(?::(\d+))?$/.exec(text) ?? [];
  return { host: host.replaceAll(/[[\]]/g, ''), port: Number(own) };
}

/**
 * Describes an unsafe connection to the database in a sentence for the operator; undefined when it
 * is safe. Repeats no part of the URL except the hosts.
 */
export function describeUnsafeWay(url: string): string | undefined {
  const { hosts, tls } = readAddress(url);
  const names = hosts.map(({ host }) => host);
  if (names.every(isHere) || !(isPlain(tls) || isUnverified(tls))) return undefined;
  const where = names.join(', ');
  const what = isPlain(tls)
    ? `The connection to ${where} may be without TLS: its password and all data can be read on the way`
    : `The connection to ${where} is encrypted, and the server is not verified: somebody on the way can read and change all data`;
  return `${what}. Add sslmode=verify-full to DATABASE_URL.`;
}

const isPlain = (tls: TlsMode): boolean => !tls || ['disable', 'prefer'].includes(tls);

/** With these values libpq encrypts without verifying the server. */
export const isUnverified = (tls: TlsMode): boolean => ['require', 'allow', 'prefer'].includes(tls ?? '');

/** A Unix socket has no TLS. */
export const isLocal = ({ host }: Pick<Host, 'host'>): boolean => host.startsWith('/');

function isHere(host: string): boolean {
  return isLocal({ host }) || host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}
