// The page at /demo: a browser subscribes and receives a real push. It exists as long as the app Demo does. Its files are few
// and small: read once, served from memory, under a policy that lets in no foreign script.
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findAppsByName } from './apps/queries.ts';
import { demoAppName } from './first-start.ts';
import { notFound } from './platform/api-error.ts';
import type { Sql } from './platform/db.ts';
import { Answer, type Route } from './platform/http-server.ts';

const pageDir = fileURLToPath(new URL('../demo/', import.meta.url));
const sdkDir = fileURLToPath(new URL('../../web/dist/', import.meta.url));
const sdkFiles = ['carillon.js', 'carillon-sw.js'];

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webmanifest': 'application/manifest+json',
};

const securityHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
};

export function demoRoutes<Caller>({ sql }: { sql: Sql }): Route<Caller>[] {
  let files: Map<string, Answer> | undefined;
  const serve = async (name: string): Promise<Answer> => {
    files ??= readFiles();
    const answer = files.get(name);
    if (!answer || (await findAppsByName(sql, demoAppName)).length === 0) throw notFound();
    return answer;
  };
  const route = (path: string, nameOf: (params: Readonly<Record<string, string>>) => string): Route<Caller> => ({
    method: 'GET',
    path,
    access: 'public',
    ignoresUnknownQuery: true,
    handle: ({ params }) => serve(nameOf(params)),
  });
  return [route('/demo', () => 'index.html'), route('/demo/:file', (params) => params['file'] ?? '')];
}

function readFiles(): Map<string, Answer> {
  const paths = [
    ...readdirSync(pageDir).map((name) => [name, pageDir + name] as const),
    ...sdkFiles.map((name) => [name, sdkDir + name] as const),
  ];
  return new Map(
    paths.flatMap(([name, path]) => {
      const type = contentTypes[extname(name)];
      if (!type) return [];
      const headers: Record<string, string> = { ...securityHeaders, 'content-type': type };
      // The worker lies in /demo/ and must also govern /demo itself.
      if (name === 'carillon-sw.js') headers['service-worker-allowed'] = '/demo';
      return [[name, new Answer(200, headers, readFileSync(path))] as const];
    }),
  );
}
