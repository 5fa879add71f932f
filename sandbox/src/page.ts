// Serves the files of the inbox page from `page/` beside the sources. The list is fixed: no path of
// a request reaches the disk.
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';

const types = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
} as const;

const files: Readonly<Record<string, keyof typeof types>> = {
  'index.html': 'html',
  'base.css': 'css',
  'inbox.css': 'css',
  'panels.css': 'css',
  'notification.css': 'css',
  'phone.css': 'css',
  'theme.js': 'js',
  'inbox.js': 'js',
  'feed.js': 'js',
  'entry.js': 'js',
  'request.js': 'js',
  'notification.js': 'js',
  'panels.js': 'js',
  'phones.js': 'js',
  'dom.js': 'js',
  'bell.svg': 'svg',
};

// Senders may put any address into a notification. Its pictures may load; nothing else of it may
// run or connect.
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: http: https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const directory = new URL('../page/', import.meta.url);

/** Answers with a file of the page. Returns false when the path names none. */
export function servePage(path: string, response: ServerResponse): boolean {
  const name = path === '/' ? 'index.html' : path.slice(1);
  const type = Object.hasOwn(files, name) ? files[name] : undefined;
  if (type === undefined) return false;
  const body = readFileSync(new URL(name, directory));
  response.writeHead(200, {
    'content-type': types[type],
    'content-length': body.length,
    'content-security-policy': policy,
    'cache-control': 'no-cache',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  });
  response.end(body);
  return true;
}
