// The pages. `/` leads to the console. At /demo a browser subscribes and receives a real push, as
// long as the app Demo exists. The files are few and small: they are read once and served from
// memory, under a policy that allows no foreign script.
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { notFound } from '../../ground/http/api-error.ts';
import { Answer, type BoundRoute } from '../../ground/http/server.ts';
import { installed } from '../../ground/install.ts';
import { askRarely } from '../../ground/pacing/ask-rarely.ts';
import { findAppsByName } from '../../teams/apps/queries.ts';
import { consoleFileRoutes } from './console-routes.ts';
import { demoAppName } from './demo-app.ts';

const pagesDir = installed('server/pages/');
const demoDir = installed('server/demo/');
const sdkDir = installed('web/dist/');
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

/**
 * Milliseconds between two questions to the database, because anybody may load the demo, however
 * often.
 */
const appAskedEveryMs = 1000;

export interface PageDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly run: { readonly publicUrl: string | null };
}

export function pageRoutes<Caller>({ sql, clock, run }: PageDeps): BoundRoute<Caller>[] {
  // A browser that came by https once uses nothing else from then on. Browsers heed this
  // header over https only.
  const headers: Record<string, string> = run.publicUrl?.startsWith('https:')
    ? { ...securityHeaders, 'strict-transport-security': 'max-age=31536000' }
    : securityHeaders;
  let pages: Files | undefined;
  let demo: Files | undefined;
  const servePage = async (name: string): Promise<Answer> => {
    pages ??= readFiles(pagesDir, headers);
    return pages.get(name) ?? refuse();
  };
  const hasDemoApp = askRarely(async () => (await findAppsByName(sql, demoAppName)).length > 0, {
    everyMs: appAskedEveryMs,
    steadyMs: clock.steadyMs,
  });
  const serveDemo = async (name: string): Promise<Answer> => {
    demo ??= new Map([...readFiles(demoDir, headers), ...readFiles(sdkDir, headers, sdkFiles)]);
    const answer = demo.get(name);
    return answer && (await hasDemoApp()) ? answer : refuse();
  };
  const route = (path: string, serve: (file: string) => Promise<Answer>): BoundRoute<Caller> => ({
    method: 'GET',
    path,
    access: 'public',
    ignoresUnknownQuery: true,
    handle: ({ params }) => serve(params['file'] ?? 'index.html'),
  });
  return [
    { ...route('/', servePage), handle: async () => new Answer(302, { ...headers, location: '/console/' }) },
    route('/base.css', () => servePage('base.css')),
    route('/demo', serveDemo),
    route('/demo/:file', serveDemo),
    ...consoleFileRoutes<Caller>(headers),
  ];
}

type Files = ReadonlyMap<string, Answer>;

function refuse(): never {
  throw notFound('There is no such page. The pages under /demo are there as long as an app Demo is.');
}

function readFiles(dir: string, common: Readonly<Record<string, string>>, names = readdirSync(dir)): Files {
  return new Map(
    names.flatMap((name) => {
      const type = contentTypes[extname(name)];
      if (!type) return [];
      const headers: Record<string, string> = { ...common, 'content-type': type };
      // The service worker lies in /demo/ and must also control /demo itself.
      if (name === 'carillon-sw.js') headers['service-worker-allowed'] = '/demo';
      return [[name, new Answer(200, headers, readFileSync(dir + name))] as const];
    }),
  );
}
