// The console's files, as a browser asks for them. They are those of the last build.
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { setup } from '../setup.ts';

const t = await setup({ workers: false });
const built = fileURLToPath(new URL('../../../console/dist/', import.meta.url));
const assets = readdirSync(`${built}assets`).filter((name) => /\.(?:js|css)$/.test(name));
const entry = /\/console\/assets\/(index-[^"]+\.js)"/.exec(readFileSync(`${built}index.html`, 'utf8'))?.[1] ?? '';

interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** A request as its bytes come: `fetch` would follow redirects and undo the encoding. */
function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> {
  return new Promise((resolve, reject) => {
    const asked = request(t.url + path, { headers, method }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) });
      });
    });
    asked.on('error', reject);
    asked.end();
  });
}

it('/ leads to the console', async () => {
  const { status, headers } = await get('/');
  expect([status, headers['location']]).toEqual([302, '/console/']);
});

describe('pages of the console', () => {
  it.each(['/console', '/console/', '/console/sign-in', '/console/apps/app_1/messages?q=a&q=b'])(
    '%s is the same page, which knows its routes',
    async (path) => {
      const { status, headers, body } = await get(path);
      expect(status).toBe(200);
      expect(headers['content-type']).toBe('text/html; charset=utf-8');
      expect(headers['cache-control']).toBe('no-cache');
      expect(body.toString()).toBe(readFileSync(`${built}index.html`, 'utf8'));
    },
  );

  it('R-54 no page may run a script that stands in it or comes from elsewhere', async () => {
    const { headers, body } = await get('/console/');
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("default-src 'none';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe-eval|script-src[^;]*unsafe|\*|https?:/);
    expect(body.toString()).not.toMatch(/<script(?![^>]*\ssrc="\/console\/)[^>]*>|\son[a-z]+=|javascript:/i);
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['referrer-policy']).toBe('no-referrer');
  });

  it.each(['/console/api', '/console/api/', '/console/api/nothing', '/console/assets/nothing.js'])(
    '%s is no page but a 404',
    async (path) => {
      const { status, body } = await get(path);
      expect(status).toBe(404);
      expect(JSON.parse(body.toString())).toMatchObject({ error: 'not_found' });
    },
  );

  it.each([
    '/console/..%2Fpackage.json',
    '/console/%2Fetc%2Fpasswd',
    '/console/index.html%00.js',
    '/console/__proto__',
  ])('%s gives no file of the machine', async (path) => {
    const { body } = await get(path);
    expect(body.toString()).toBe(readFileSync(`${built}index.html`, 'utf8'));
  });
});

describe('assets', () => {
  it('are never asked for again, because their names change with their content', async () => {
    expect(assets.length).toBeGreaterThan(20);
    for (const name of assets.slice(0, 20)) {
      const { status, headers, body } = await get(`/console/assets/${name}`);
      expect(status).toBe(200);
      expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
      expect(body.equals(readFileSync(`${built}assets/${name}`))).toBe(true);
    }
  });

  it.each([
    ['gzip, deflate', 'gzip'],
    ['gzip, deflate, br, zstd', 'br'],
    ['br;q=0, GZIP;q=0.5', 'gzip'],
    ['identity', undefined],
    ['', undefined],
  ])('for accept-encoding "%s" come as %s', async (accepted, encoding) => {
    const { headers, body } = await get(`/console/assets/${entry}`, { 'accept-encoding': accepted });
    expect(headers['content-encoding']).toBe(encoding);
    expect(headers['vary']).toBe('accept-encoding');
    if (encoding === 'gzip') expect(gunzipSync(body).equals(readFileSync(`${built}assets/${entry}`))).toBe(true);
    if (encoding !== undefined) expect(body.length).toBeLessThan(readFileSync(`${built}assets/${entry}`).length / 2);
  });

  it('are not sent again to a browser that has them', async () => {
    const first = await get('/console/', { 'accept-encoding': 'gzip' });
    const tag = String(first.headers['etag']);
    const again = await get('/console/', { 'accept-encoding': 'gzip', 'if-none-match': `"other", W/${tag}` });
    expect([again.status, again.body.length, again.headers['etag']]).toEqual([304, 0, tag]);
    const plain = await get('/console/', { 'if-none-match': tag });
    expect(plain.status).toBe(200);
  });

  it('HEAD answers as GET, without a body', async () => {
    const { status, headers, body } = await get('/console/', {}, 'HEAD');
    expect([status, body.length]).toEqual([200, 0]);
    expect(Number(headers['content-length'])).toBe(readFileSync(`${built}index.html`).length);
  });
});
