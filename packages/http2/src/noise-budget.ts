// Limits the frames of a peer that answer nothing: SETTINGS, PINGs, resets, empty frames, and
// frames for finished streams. Every honest peer sends some; a flood uses the budget up. The budget
// grows with time and with our requests, up to its first size.

const frames = 1_000;
const framesPerSecond = 20;
const framesPerRequest = 8;

export class NoiseBudget {
  #left = frames;
  #refilledAt = performance.now();

  noteRequest(): void {
    this.#left = Math.min(frames, this.#left + framesPerRequest);
  }

  /** Returns false when the budget is used up. */
  spend(count: number): boolean {
    this.#left -= count;
    if (this.#left >= 0) return true;
    const now = performance.now();
    this.#left += Math.min(frames, ((now - this.#refilledAt) / 1_000) * framesPerSecond);
    this.#refilledAt = now;
    return this.#left >= 0;
  }
}
