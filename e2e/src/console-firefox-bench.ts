// The bench of the console's tests in Firefox: the service with its sandbox, and a Firefox of its
// own.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Stage } from '../../tools/demo-stage.ts';
import { Firefox } from './firefox.ts';
import { programPath } from './requirements.ts';
import type { Run } from './run.ts';
import type { Bench } from './runner.ts';

/** Nothing listens there: the console needs no push service of the browser. */
const noPushService = 'ws://127.0.0.1:9/';

export class ConsoleFirefoxBench implements Bench {
  readonly stage: Stage;
  readonly browser: Firefox;

  private constructor(stage: Stage, browser: Firefox) {
    this.stage = stage;
    this.browser = browser;
  }

  static async start(run: Run): Promise<ConsoleFirefoxBench> {
    const stage = new Stage();
    try {
      await stage.startSandbox();
      await stage.startService();
      const browser = await Firefox.launch({
        run,
        executablePath: programPath('firefox-esr'),
        profileDir: run.newPath('profile'),
        pushServiceUrl: noPushService,
      });
      return new ConsoleFirefoxBench(stage, browser);
    } catch (error) {
      await stage.close();
      throw error;
    }
  }

  async saveArtifacts(dir: string): Promise<void> {
    await this.browser.saveScreenshots(dir);
    writeFileSync(join(dir, 'service.log'), this.stage.tailOfLog());
  }

  async stop(): Promise<void> {
    await this.browser.quit();
    await this.stage.close();
  }
}
