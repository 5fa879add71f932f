// The system's Firefox, headless, with its own profile and its push service on loopback. Puppeteer
// drives pages over WebDriver BiDi; scripts in the chrome scope drive the browser's own windows.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, connect, type Page } from 'puppeteer-core';
import { BidiChannel } from './bidi-channel.ts';
import { untilDefined, withDeadline } from './deadline.ts';
import type { DrivenBrowser, DrivenPage } from './driven-browser.ts';
import { FirefoxAlerts } from './firefox-alerts.ts';
import type { NotificationArea } from './notification-area.ts';
import type { NotificationDaemon } from './notification-daemon.ts';
import type { Run, StartedProcess } from './run.ts';

export interface FirefoxOptions {
  run: Run;
  executablePath: string;
  profileDir: string;
  /** The URL of the push service's WebSocket. */
  pushServiceUrl: string;
  /** With a daemon, notifications go over D-Bus; without one, Firefox shows windows of its own. */
  desktop?: NotificationDaemon;
}

/** Long enough for a slow machine that does other things as well. */
const waitMs = 30_000;

function preferences(options: FirefoxOptions): Record<string, string | number | boolean> {
  return {
    'dom.push.serverURL': options.pushServiceUrl,
    'dom.push.testing.allowInsecureServerURL': true,
    // True by default, but the remote agent turns it off unless the user has set it.
    'dom.push.connection.enabled': true,
    'dom.push.retryBaseInterval': 200,
    'permissions.default.desktop-notification': 1,
    'alerts.useSystemBackend': options.desktop !== undefined,
    'network.manage-offline-status': false,
    'app.update.disabledForTesting': true,
    'browser.shell.checkDefaultBrowser': false,
    'datareporting.policy.dataSubmissionEnabled': false,
    'toolkit.telemetry.reportingpolicy.firstRun': false,
    'app.normandy.enabled': false,
    'browser.startup.page': 0,
    'browser.newtabpage.enabled': false,
    'network.captive-portal-service.enabled': false,
    'network.connectivity-service.enabled': false,
  };
}

export class Firefox implements DrivenBrowser {
  readonly name = 'Firefox';
  readonly notifications: NotificationArea;
  readonly #process: StartedProcess;
  readonly #channel: BidiChannel;
  readonly #browser: Browser;

  private constructor(process: StartedProcess, channel: BidiChannel, browser: Browser, area: NotificationArea) {
    this.#process = process;
    this.#channel = channel;
    this.#browser = browser;
    this.notifications = area;
  }

  static async launch(options: FirefoxOptions): Promise<Firefox> {
    const { run, profileDir, desktop } = options;
    mkdirSync(profileDir, { recursive: true });
    const lines = Object.entries(preferences(options)).map(
      ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`,
    );
    writeFileSync(join(profileDir, 'user.js'), lines.join(''));
    const args = ['--headless', '--no-remote', '--profile', profileDir, '--remote-debugging-port=0'];
    const process = run.start(options.executablePath, [...args, '--remote-allow-system-access', 'about:blank'], {
      MOZ_HEADLESS_WIDTH: '1280',
      MOZ_HEADLESS_HEIGHT: '900',
      DBUS_SESSION_BUS_ADDRESS: desktop?.busAddress ?? 'disabled:',
      // Otherwise Firefox would write files of its own and of its crash reporter into the user's
      // home directory.
      HOME: profileDir,
    });
    const url = await untilDefined('Firefox to listen', () => findBidiUrl(process), 60_000);
    const channel = await BidiChannel.connect(`${url}/session`);
    const browser = await withDeadline(
      'Firefox to open a session',
      60_000,
      connect({ transport: channel, protocol: 'webDriverBiDi', defaultViewport: null }),
    );
    return new Firefox(process, channel, browser, desktop ?? new FirefoxAlerts(channel));
  }

  async openPage(url: string): Promise<DrivenPage> {
    const page = await this.#browser.newPage();
    page.setDefaultTimeout(waitMs);
    await page.goto(url);
    return new FirefoxPage(page);
  }

  async listPageUrls(): Promise<string[]> {
    const pages = await this.#browser.pages();
    return pages.map((page) => page.url());
  }

  async setNotificationPermission(origin: string, setting: 'allow' | 'block'): Promise<void> {
    const tree = await this.#channel.command('browsingContext.getTree', { 'moz:scope': 'chrome', maxDepth: 0 });
    const [window] = tree['contexts'] as { context: string }[];
    if (window === undefined) throw new Error('Firefox has no window.');
    const result = await this.#channel.command('script.callFunction', {
      target: { context: window.context },
      awaitPromise: false,
      arguments: [
        { type: 'string', value: origin },
        { type: 'string', value: setting },
      ],
      functionDeclaration: `(origin, setting) => {
        const principal = Services.scriptSecurityManager.createContentPrincipalFromOrigin(origin);
        const action = setting === 'allow' ? Services.perms.ALLOW_ACTION : Services.perms.DENY_ACTION;
        Services.perms.addFromPrincipal(principal, 'desktop-notification', action);
      }`,
    });
    if (result['type'] !== 'success') throw new Error(`Firefox refused: ${JSON.stringify(result['exceptionDetails'])}`);
  }

  async saveScreenshots(dir: string): Promise<void> {
    let number = 0;
    for (const page of await this.#browser.pages()) {
      number += 1;
      await page.screenshot({ path: join(dir, `firefox-${number}.png`) as `${string}.png` });
    }
  }

  async quit(): Promise<void> {
    if (!this.#process.hasExited) await this.#channel.command('browser.close', {}).catch(() => {});
    await this.#process.waitForExit(waitMs);
    this.#channel.close();
  }
}

function findBidiUrl(process: StartedProcess): string | undefined {
  if (process.hasExited) throw new Error(`Firefox ended at once: ${readFileSync(process.outputPath, 'utf8')}`);
  const output = existsSync(process.outputPath) ? readFileSync(process.outputPath, 'utf8') : '';
  return /WebDriver BiDi listening on (?<url>ws:\/\/\S+)/.exec(output)?.groups?.['url'];
}

class FirefoxPage implements DrivenPage {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  async click(role: string, name: string): Promise<void> {
    await this.#page.locator(ariaSelector(role, name)).click();
  }

  async fill(label: string, text: string): Promise<void> {
    await this.#page.locator(ariaSelector('textbox', label)).fill(text);
  }

  async waitForRole(role: string, name?: string): Promise<string> {
    const element = await this.#page.waitForSelector(ariaSelector(role, name));
    return (await element?.evaluate((node) => node.textContent)) ?? '';
  }

  async clickText(text: string): Promise<void> {
    await this.#page.locator(`::-p-text(${text})`).click();
  }

  async waitForText(text: string): Promise<void> {
    await this.#page.waitForSelector(`::-p-text(${text})`, { visible: true });
  }

  url(): string {
    return this.#page.url();
  }

  async close(): Promise<void> {
    await this.#page.close();
  }
}

function ariaSelector(role: string, name?: string): string {
  const nameFilter = name === undefined ? '' : `[name="${name}"]`;
  return `::-p-aria(${nameFilter}[role="${role}"])`;
}
