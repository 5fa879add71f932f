// The bench of a browser test: the browser, its push service, the place of its notifications, and
// an independent sender. Each browser has its own bench; tests use the common interface.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Autopush } from './autopush.ts';
import { loadCertificate, type TestCertificate } from './certificate.ts';
import { Chromium } from './chromium.ts';
import type { DrivenBrowser } from './driven-browser.ts';
import { Firefox } from './firefox.ts';
import { endpointHost, Gcm } from './gcm.ts';
import { IndependentSender } from './independent-sender.ts';
import { NotificationDaemon } from './notification-daemon.ts';
import { programPath } from './requirements.ts';
import type { Run } from './run.ts';
import type { Bench } from './runner.ts';

export interface PushBench extends Bench {
  readonly run: Run;
  readonly certificate: TestCertificate;
  readonly sender: IndependentSender;
  /** Maps `host:port` of connections to the loopback port that they go to instead. */
  readonly routes: ReadonlyMap<string, number>;
  readonly browser: DrivenBrowser;
  /** The push service's status for a signature by another key. */
  readonly wrongKeyStatus: number;
  /** Damages the next push inside the push service after it was accepted. */
  corruptNext(): void;
  quitBrowser(): Promise<void>;
  /** Starts the browser with its previous profile, without any site's page. */
  startBrowser(): Promise<void>;
}

abstract class BrowserBench<B extends DrivenBrowser> implements PushBench {
  readonly run: Run;
  readonly certificate = loadCertificate();
  readonly profileDir: string;
  readonly desktop: NotificationDaemon | undefined;
  abstract readonly sender: IndependentSender;
  abstract readonly routes: ReadonlyMap<string, number>;
  abstract readonly wrongKeyStatus: number;
  #browser: B | undefined;

  constructor(run: Run, desktop: NotificationDaemon | undefined) {
    this.run = run;
    this.profileDir = run.newPath('profile');
    this.desktop = desktop;
  }

  get browser(): B {
    if (this.#browser === undefined) throw new Error('The browser is not running.');
    return this.#browser;
  }

  async startBrowser(): Promise<void> {
    this.#browser = await this.launch();
  }

  async quitBrowser(): Promise<void> {
    const browser = this.#browser;
    this.#browser = undefined;
    await browser?.quit();
  }

  async saveArtifacts(dir: string): Promise<void> {
    writeFileSync(join(dir, 'push-service.jsonl'), this.serviceLog());
    if (this.desktop !== undefined) writeFileSync(join(dir, 'desktop.jsonl'), this.desktop.log.toText());
    this.run.saveOutputs(dir);
    await this.#browser?.saveScreenshots(dir);
  }

  async stop(): Promise<void> {
    await this.quitBrowser();
    await this.desktop?.stop();
    await this.stopService();
  }

  abstract corruptNext(): void;
  protected abstract launch(): Promise<B>;
  protected abstract serviceLog(): string;
  protected abstract stopService(): Promise<void>;
}

export class FirefoxBench extends BrowserBench<Firefox> {
  readonly autopush: Autopush;
  readonly sender: IndependentSender;
  readonly routes: ReadonlyMap<string, number>;
  readonly wrongKeyStatus = 401;

  private constructor(run: Run, autopush: Autopush, desktop: NotificationDaemon | undefined) {
    super(run, desktop);
    this.autopush = autopush;
    // The endpoint's host is localhost anyway; the route only decides which of its addresses is
    // used.
    this.routes = new Map([[new URL(autopush.origin).host, autopush.endpointPort]]);
    this.sender = new IndependentSender(this.certificate.cert, this.routes);
  }

  static async start(run: Run, notifications: 'own windows' | 'D-Bus'): Promise<FirefoxBench> {
    const desktop = notifications === 'D-Bus' ? await NotificationDaemon.start(run) : undefined;
    const bench = new FirefoxBench(run, await Autopush.start(loadCertificate()), desktop);
    await bench.startBrowser();
    return bench;
  }

  corruptNext(): void {
    this.autopush.corruptNext();
  }

  protected async launch(): Promise<Firefox> {
    return await Firefox.launch({
      run: this.run,
      executablePath: programPath('firefox-esr'),
      profileDir: this.profileDir,
      pushServiceUrl: this.autopush.socketUrl,
      ...(this.desktop !== undefined && { desktop: this.desktop }),
    });
  }

  protected serviceLog(): string {
    return this.autopush.log.toText();
  }

  protected async stopService(): Promise<void> {
    await this.autopush.stop();
  }
}

export class ChromiumBench extends BrowserBench<Chromium> {
  readonly gcm: Gcm;
  readonly sender: IndependentSender;
  readonly routes: ReadonlyMap<string, number>;
  readonly wrongKeyStatus = 403;
  readonly #desktop: NotificationDaemon;

  private constructor(run: Run, gcm: Gcm, desktop: NotificationDaemon) {
    super(run, desktop);
    this.gcm = gcm;
    this.#desktop = desktop;
    this.routes = new Map([[`${endpointHost}:443`, gcm.endpointPort]]);
    this.sender = new IndependentSender(this.certificate.cert, this.routes);
  }

  static async start(run: Run): Promise<ChromiumBench> {
    const bench = new ChromiumBench(run, await Gcm.start(loadCertificate()), await NotificationDaemon.start(run));
    await bench.startBrowser();
    return bench;
  }

  corruptNext(): void {
    this.gcm.corruptNext();
  }

  protected async launch(): Promise<Chromium> {
    return await Chromium.launch({
      run: this.run,
      executablePath: programPath('chromium'),
      profileDir: this.profileDir,
      pushServiceSwitches: this.gcm.chromiumSwitches,
      pushServiceSpkiHash: this.certificate.spkiHash,
      desktop: this.#desktop,
    });
  }

  protected serviceLog(): string {
    return this.gcm.log.toText();
  }

  protected async stopService(): Promise<void> {
    await this.gcm.stop();
  }
}
