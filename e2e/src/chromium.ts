// The system's Chromium, headless, with its own profile and its push service on loopback, driven by
// Playwright. Its notifications can only be clicked over D-Bus.

import { join } from 'node:path';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { withDeadline } from './deadline.ts';
import type { DrivenBrowser, DrivenPage } from './driven-browser.ts';
import type { NotificationArea } from './notification-area.ts';
import type { NotificationDaemon } from './notification-daemon.ts';
import type { Run } from './run.ts';

export interface ChromiumOptions {
  run: Run;
  executablePath: string;
  /** Push needs a persistent profile; a temporary context has none. */
  profileDir: string;
  /** The switches that direct Chromium to the push service. */
  pushServiceSwitches: readonly string[];
  /**
   * SHA-256 of the push service's public key. Without it subscribing works, but no message ever
   * arrives.
   */
  pushServiceSpkiHash: string;
  desktop: NotificationDaemon;
}

/** Long enough for a slow machine that does other things as well. */
const waitMs = 30_000;

export class Chromium implements DrivenBrowser {
  readonly name = 'Chromium';
  readonly notifications: NotificationArea;
  readonly #context: BrowserContext;

  private constructor(context: BrowserContext, area: NotificationArea) {
    this.#context = context;
    this.notifications = area;
  }

  static async launch(options: ChromiumOptions): Promise<Chromium> {
    const context = await chromium.launchPersistentContext(options.profileDir, {
      executablePath: options.executablePath,
      // Playwright's own headless switch may select an older mode; this switch runs the whole
      // browser.
      headless: false,
      args: [
        '--headless=new',
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-component-update',
        '--disable-sync',
        // No connection leaves the machine.
        '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost , EXCLUDE *.localhost , EXCLUDE 127.0.0.1',
        `--ignore-certificate-errors-spki-list=${options.pushServiceSpkiHash}`,
        ...options.pushServiceSwitches,
      ],
      viewport: null,
      env: options.run.environment({ DBUS_SESSION_BUS_ADDRESS: options.desktop.busAddress, HOME: options.profileDir }),
      timeout: 60_000,
    });
    context.setDefaultTimeout(waitMs);
    return new Chromium(context, options.desktop);
  }

  async openPage(url: string): Promise<DrivenPage> {
    const page = await this.#context.newPage();
    await page.goto(url);
    return new ChromiumPage(page);
  }

  async listPageUrls(): Promise<string[]> {
    return this.#context.pages().map((page) => page.url());
  }

  async setNotificationPermission(origin: string, setting: 'allow' | 'block'): Promise<void> {
    const page = await this.#context.newPage();
    try {
      await page.goto('chrome://settings/content/notifications');
      // Sends the settings page's own message. A permission that a driver overrides would not end a
      // subscription.
      await page.evaluate(
        ([site, value]) => {
          const { chrome } = globalThis as unknown as { chrome: { send(message: string, args: unknown[]): void } };
          chrome.send('setOriginPermissions', [site, 'notifications', value]);
        },
        [origin, setting],
      );
    } finally {
      await page.close();
    }
  }

  async saveScreenshots(dir: string): Promise<void> {
    let number = 0;
    for (const page of this.#context.pages()) {
      number += 1;
      await page.screenshot({ path: join(dir, `chromium-${number}.png`) });
    }
  }

  async quit(): Promise<void> {
    await withDeadline('Chromium to end', waitMs, this.#context.close());
  }
}

class ChromiumPage implements DrivenPage {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  async click(role: 'button' | 'link' | 'checkbox', name: string): Promise<void> {
    await this.#page.getByRole(role, { name, exact: true }).click();
  }

  async fill(label: string, text: string): Promise<void> {
    await this.#page.getByRole('textbox', { name: label, exact: true }).fill(text);
  }

  async waitForRole(role: string, name?: string): Promise<string> {
    const byRole = this.#page.getByRole(role as 'status', name === undefined ? {} : { name, exact: true });
    await byRole.first().waitFor();
    return (await byRole.first().textContent()) ?? '';
  }

  async clickText(text: string): Promise<void> {
    await this.#page.getByText(text, { exact: true }).first().click();
  }

  async waitForText(text: string): Promise<void> {
    // A plain text would ignore case and match hidden elements.
    const pattern = new RegExp(text.replaceAll(/[^\w\s]/g, '\\$&'));
    await this.#page.getByText(pattern).filter({ visible: true }).first().waitFor();
  }

  url(): string {
    return this.#page.url();
  }

  async close(): Promise<void> {
    await this.#page.close();
  }
}
