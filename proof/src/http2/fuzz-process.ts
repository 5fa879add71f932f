// The program behind `fuzz.ts`: `FRAMES SEED` as arguments, `Fuzzed` as its one message. Needs --expose-gc.
import { ownEngine } from '../../../server/src/platform/http2/own-session.ts';
import { fuzzHttp2 } from '../../../server/test/platform/http2-fuzzer.ts';
import type { Fuzzed } from './fuzz.ts';

/** Every so many observations the collector runs, and what it leaves is counted. */
const observationsPerSample = 10;

/** All scripts once or more: code is compiled and pools are filled. What is held then, at rest, is what it grows from. */
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
    // Twice: what the first finds of buffers is counted until it has been swept.
    globalThis.gc?.();
    globalThis.gc?.();
    const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
    return { held: heapUsed + arrayBuffers, resident: rss };
  }

  /** From here on it is to grow no more. */
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
