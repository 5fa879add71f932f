// The bench of the console's tests: the service with its sandbox, an owner who signed in once, an
// app with devices, and a Chromium whose contexts are people.
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { type Json, Stage } from '../../tools/demo-stage.ts';
import { programPath } from './requirements.ts';
import type { Bench } from './runner.ts';

/** Long enough for a slow machine that does other things as well. */
const waitMs = 30_000;

export const owner = { name: 'Anna', email: 'anna@harbour-books.example', password: 'a bell of three strokes' };

export interface ConsoleApp {
  readonly id: string;
  readonly name: string;
  readonly serverKey: string;
  readonly clientKey: string;
}

interface BrowserOptions {
  readonly colorScheme?: 'light' | 'dark';
  readonly bypassCSP?: boolean;
  readonly userAgent?: string;
}

export class ConsoleBench implements Bench {
  readonly stage: Stage;
  readonly #browser: Browser;
  #ownerState: Awaited<ReturnType<BrowserContext['storageState']>> | undefined;

  private constructor(stage: Stage, browser: Browser) {
    this.stage = stage;
    this.#browser = browser;
  }

  static async start(): Promise<ConsoleBench> {
    const stage = new Stage();
    try {
      await stage.startSandbox();
      await stage.startService();
      const browser = await chromium.launch({
        executablePath: programPath('chromium'),
        args: ['--no-sandbox', '--disable-gpu'],
      });
      return new ConsoleBench(stage, browser);
    } catch (error) {
      await stage.close();
      throw error;
    }
  }

  url(path: string): string {
    return `${this.stage.serviceUrl}/console${path}`;
  }

  /** A browser of somebody who is not signed in. */
  async stranger(options: BrowserOptions = {}): Promise<BrowserContext> {
    const context = await this.#browser.newContext({
      viewport: { width: 1440, height: 900 },
      reducedMotion: 'reduce',
      ...options,
    });
    context.setDefaultTimeout(waitMs);
    return context;
  }

  /** A browser in which the owner is signed in. The first call sets the console up. */
  async owner(options: BrowserOptions = {}): Promise<BrowserContext> {
    if (!this.#ownerState) {
      const first = await this.stranger();
      const page = await first.newPage();
      const { link } = await this.stage.command('owner', 'setup-link');
      await setUp(page, String(link));
      await page.getByRole('heading', { name: 'Apps' }).waitFor();
      this.keepOwner(await first.storageState());
      await first.close();
    }
    const context = await this.stranger(options);
    await context.addCookies(this.#ownerState?.cookies ?? []);
    return context;
  }

  /** A browser of a new member, who was invited by the owner and has joined. */
  async member(person: { name: string; email: string; role: string }, options: BrowserOptions = {}) {
    const { serviceUrl: origin } = this.stage;
    const owner = await this.owner();
    const { name, ...invite } = person;
    const made = await owner.request.post(`${origin}/console/api/team/invites`, { headers: { origin }, data: invite });
    const { link } = (await made.json()) as { link: string };
    await owner.close();
    const context = await this.stranger(options);
    const page = await context.newPage();
    await page.goto(link);
    await page.getByLabel('Your name').fill(name);
    await page.getByLabel('Password', { exact: true }).fill(memberPassword);
    await page.getByRole('button', { name: 'Join' }).click();
    await page.getByRole('heading', { name: 'Apps' }).waitFor();
    await page.close();
    return context;
  }

  /** Remembers the session of an owner who was set up by a test. */
  keepOwner(state: Awaited<ReturnType<BrowserContext['storageState']>>): void {
    this.#ownerState = state;
  }

  async makeApp(name: string): Promise<ConsoleApp> {
    const made = await this.stage.command('app', 'create', name, '--plan', 'unlimited');
    const app = {
      id: String(made['id']),
      name,
      serverKey: String(made['server_key']),
      clientKey: String(made['client_key']),
    };
    await this.stage.command('channel', 'set', app.id, 'webpush', '--subject', 'mailto:push@harbour-books.example');
    return app;
  }

  /** A simulated browser of the app. Returns the device as the API answers it. */
  async makeDevice(app: ConsoleApp, more: Json = {}): Promise<{ id: string; endpoint: string }> {
    const { vapid_public_key } = await this.stage.api(app.serverKey, 'GET', '/v1/config');
    const made = await this.stage.sandbox('POST', '/subscriptions', {
      vendor: 'fcm',
      vapid_key: vapid_public_key,
      hosts: 'vendor',
    });
    const [token] = made['subscriptions'] as { endpoint: string }[];
    const device = await this.stage.api(app.serverKey, 'POST', '/v1/devices', { platform: 'web', token, ...more });
    return { id: String(device['id']), endpoint: token?.endpoint ?? '' };
  }

  /** The push service no longer knows the subscription: the next push ends with 410. */
  async removeSubscription(endpoint: string): Promise<void> {
    await this.stage.sandbox('DELETE', `/subscriptions/${endpoint.split('/').at(-1)}`);
  }

  async send(app: ConsoleApp, body: Json): Promise<string> {
    return String((await this.stage.api(app.serverKey, 'POST', '/v1/messages', body))['id']);
  }

  async saveArtifacts(dir: string): Promise<void> {
    let number = 0;
    for (const page of this.#browser.contexts().flatMap((context) => context.pages())) {
      number += 1;
      await page.screenshot({ path: join(dir, `console-${number}.png`) });
    }
    writeFileSync(join(dir, 'service.log'), this.stage.tailOfLog());
  }

  async stop(): Promise<void> {
    await this.#browser.close();
    await this.stage.close();
  }
}

/** The password of every person that `member` invites. */
export const memberPassword = 'another long password';

/** Resolves when nothing on the page is still a placeholder. */
export async function isLoaded(page: Page): Promise<void> {
  await page.waitForFunction(() => document.querySelector('[aria-label="Loading"]') === null);
}

/** Follows a set-up link and becomes the owner. */
export async function setUp(page: Page, link: string): Promise<void> {
  await page.goto(link);
  await page.getByLabel('Organisation').fill('Harbour Books Ltd');
  await page.getByLabel('Your name').fill(owner.name);
  await page.getByLabel('E-mail').fill(owner.email);
  await page.getByLabel(/^Password/).fill(owner.password);
  await page.getByRole('button', { name: 'Set up' }).click();
}

/** The code that an authenticator app shows for this secret (RFC 6238). */
export function totp(secret: string, atMs: number): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bits = [...secret.replaceAll('=', '')]
    .map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0'))
    .join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(atMs / 30_000)));
  const hash = createHmac('sha1', key).update(counter).digest();
  const offset = (hash.at(-1) ?? 0) & 15;
  return String((hash.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}
