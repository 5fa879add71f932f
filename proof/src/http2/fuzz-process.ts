// The program behind `fuzz.ts`. Its arguments are `FRAMES SEED`, its one message is `Fuzzed`. It
// needs --expose-gc.

import { ownEngine } from '@carillon/http2';
import { fuzzHttp2 } from '../../../rig/src/http2-fuzzer.ts';
import type { Fuzzed } from './fuzz.ts';

/**
 * Observations between two samples. A sample runs the garbage collector and measures what remains.
 */
const observationsPerSample = 10;

/**
 * Connections that play all scripts at least once, so that code is compiled and pools are filled.
 * Growth counts from the memory after them.
 */
const warmUpConnections = 150;

const exceptions: string[] = [];
const keep = (error: unknown) => exceptions.push(String(error instanceof Error ? error.stack : error));
process.on('uncaughtException', keep);
process.on('unhandledRejection', keep);

class Memory {
  #observations = 0;
  #heldAtFirst = 0;
  #residentAtFirst = 0;
  #held = 0;
  #resident = 0;

  observe(): void {
    this.#observations += 1;
    if (this.#observations % observationsPerSample > 0) return;
    const { held, resident } = this.#measure();
    this.#held = Math.max(this.#held, held);
    this.#resident = Math.max(this.#resident, resident);
  }

  #measure() {
    // Collected twice, because buffers that the first run frees are counted until they are swept.
    globalThis.gc?.();
    globalThis.gc?.();
    const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
    return { held: heapUsed + arrayBuffers, resident: rss };
  }

  /** Takes the baseline; from here on memory must not grow. */
  begin(): void {
    const { held, resident } = this.#measure();
    this.#heldAtFirst = held;
    this.#residentAtFirst = resident;
    this.#held = held;
    this.#resident = resident;
  }

  get grown() {
    return {
      grownBytes: this.#held - this.#heldAtFirst,
      grownResidentBytes: this.#resident - this.#residentAtFirst,
    };
  }
}

const [frames = 0, seed = 0] = process.argv.slice(2).map(Number);
const memory = new Memory();
const observe = () => memory.observe();
const warmUp = await fuzzHttp2(ownEngine, { connections: warmUpConnections, seed, observe });
memory.begin();
const rest = await fuzzHttp2(ownEngine, { frames: frames - warmUp.frames, seed: seed + warmUp.connections, observe });
const fuzzed: Fuzzed = {
  frames: warmUp.frames + rest.frames,
  connections: warmUp.connections + rest.connections,
  scripts: new Set([...warmUp.scripts.keys(), ...rest.scripts.keys()]).size,
  complaints: [...warmUp.complaints, ...rest.complaints],
  ...memory.grown,
  exceptions,
};
process.send?.(fuzzed, () => process.exit(0));
