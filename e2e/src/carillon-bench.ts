// The bench of the tests of the whole system: Carillon, a browser and its push service.

import { Carillon } from './carillon.ts';
import type { PushBench } from './push-bench.ts';
import type { Bench } from './runner.ts';

export class CarillonBench<P extends PushBench = PushBench> implements Bench {
  readonly carillon: Carillon;
  readonly push: P;

  private constructor(carillon: Carillon, push: P) {
    this.carillon = carillon;
    this.push = push;
  }

  static async start<P extends PushBench>(starting: Promise<P>): Promise<CarillonBench<P>> {
    const push = await starting;
    const { run, routes, certificate } = push;
    try {
      return new CarillonBench(await Carillon.start({ run, routes, certificate }), push);
    } catch (error) {
      await push.stop();
      throw error;
    }
  }

  async saveArtifacts(dir: string): Promise<void> {
    await this.push.saveArtifacts(dir);
  }

  async stop(): Promise<void> {
    await this.push.stop();
    await this.carillon.stop();
  }
}
