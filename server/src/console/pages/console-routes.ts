// The console's files: what `console/build.mjs` wrote, read once and served from memory, in the
// encoding that the browser takes. Any other path below /console/ is a page of the console and gets
// index.html, which knows its routes. The API below /console/api is not served here.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { notFound } from '../../ground/http/api-error.ts';
import { Answer, type ApiRequest, type BoundRoute } from '../../ground/http/server.ts';
import { installed } from '../../ground/install.ts';

const builtDir = installed('console/dist/');

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

// Styles may be inline, because the component kit writes a rule for a breakpoint where it is used;
// scripts may not (R-54).
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The compressed forms, the best first, with the endings of their files. */
const encodings = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

interface ServedFile {
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  readonly compressed: ReadonlyMap<string, Buffer>;
  /** Quoted, as in the header. A compressed form adds its encoding. */
  readonly hash: string;
}

/** `headers` are those of every page. */
export function consoleFileRoutes<Caller>(headers: Readonly<Record<string, string>>): BoundRoute<Caller>[] {
  let files: ReadonlyMap<string, ServedFile> | undefined;
  const serve = (path: string, { header }: Pick<ApiRequest<Caller>, 'header'>): Answer => {
    files ??= readBuilt({ ...headers, 'content-security-policy': policy });
    const isPage = !/^(?:api|assets)(?:\/|$)/.test(path) && !files.has(path);
    const file = files.get(isPage ? 'index.html' : path);
    if (!file) throw notFound(isPage ? 'The console is not built. Run npm run build.' : undefined);
    return answerWith(file, header('accept-encoding').join(), header('if-none-match').join());
  };
  const route = (path: string): BoundRoute<Caller> => ({
    method: 'GET',
    path,
    access: 'public',
    ignoresUnknownQuery: true,
    handle: async (request) => serve(request.params['*'] ?? '', request),
  });
  return [route('/console'), route('/console/*')];
}

function answerWith({ headers, bytes, compressed, hash }: ServedFile, accepted: string, known: string): Answer {
  const takes = new Set(accepted.split(',').flatMap(readCoding));
  const [encoding, body] = [...compressed].find(([name]) => takes.has(name)) ?? ['', bytes];
  const etag = `"${hash}${encoding === '' ? '' : `-${encoding}`}"`;
  const given = { ...headers, etag, ...(encoding !== '' && { 'content-encoding': encoding }) };
  const isKnown = known.split(',').some((each) => each.trim().replace(/^W\//, '') === etag);
  return isKnown ? new Answer(304, given) : new Answer(200, given, body);
}

/** Reads one item of accept-encoding. A coding with the weight 0 is refused. */
function readCoding(item: string): string[] {
  const [name = '', ...parameters] = item.split(';').map((each) => each.trim().toLowerCase());
  return parameters.some((each) => /^q=0(?:\.0{0,3})?$/.test(each)) ? [] : [name];
}

function readBuilt(common: Readonly<Record<string, string>>): ReadonlyMap<string, ServedFile> {
  if (!existsSync(builtDir)) return new Map();
  const names = readdirSync(builtDir, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/'));
  return new Map(
    names.flatMap((name): [string, ServedFile][] => {
      const type = contentTypes[extname(name)];
      if (!type) return [];
      const bytes = readFileSync(join(builtDir, name));
      const compressed = encodings.flatMap(([encoding, ending]): [string, Buffer][] =>
        names.includes(name + ending) ? [[encoding, readFileSync(join(builtDir, name + ending))]] : [],
      );
      // The names of assets carry a hash of their content, so a browser need never ask again.
      const isFixed = name.startsWith('assets/');
      const headers = {
        ...common,
        'content-type': type,
        'cache-control': isFixed ? 'public, max-age=31536000, immutable' : 'no-cache',
        vary: 'accept-encoding',
      };
      const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
      return [[name, { headers, bytes, compressed: new Map(compressed), hash }]];
    }),
  );
}
