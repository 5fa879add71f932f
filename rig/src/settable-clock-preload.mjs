// Node loads this file (`--import`) before the service into every process whose clocks a proof sets
// while it runs. CARILLON_CLOCK_FILE holds two numbers: by how many milliseconds the wall clock is
// ahead, and by how many the steady clock is behind. If the wall clock is suddenly ahead by two
// hours, the host seems to have slept for two hours. If the steady clock is behind by the time for
// which the process was stopped, it seems to have stood still.
import { openSync, readSync } from 'node:fs';

const file = openSync(process.env['CARILLON_CLOCK_FILE'], 'r');
const bytes = Buffer.alloc(16);
const RealDate = Date;
const steadyMs = performance.now.bind(performance);

const read = (offset) => {
  readSync(file, bytes, 0, 16, 0);
  return bytes.readDoubleBE(offset);
};
const aheadMs = () => read(0);

class SettableDate extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + aheadMs());
    else super(...given);
  }
  static now() {
    return Math.floor(RealDate.now() + aheadMs());
  }
}

globalThis.Date = SettableDate;
performance.now = () => steadyMs() - read(8);
