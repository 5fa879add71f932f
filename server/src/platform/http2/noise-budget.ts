// How much a peer may send that answers nothing: SETTINGS, PINGs, resets, empty frames, frames for streams that are gone.
// Every honest peer sends some; a flood runs out of it. Grows with time and with what we ask for, up to its first size.

const frames = 1_000;
const framesPerSecond = 20;
const framesPerRequest = 8;

export class NoiseBudget {
  #left = frames;
  #refilledAt = performance.now();

  noteRequest(): void {
    this.#left = Math.min(frames, this.#left + framesPerRequest);
  }

  /** False when it is used up. */
  spend(count: number): boolean {
    this.#left -= count;
    if (this.#left >= 0) return true;
    const now = performance.now();
    this.#left += Math.min(frames, ((now - this.#refilledAt) / 1_000) * framesPerSecond);
    this.#refilledAt = now;
    return this.#left >= 0;
  }
}
