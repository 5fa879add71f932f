// Node loads this file (`--import`) before the service into every process of a service whose
// machine has a wrong clock. The wall clock is off by CARILLON_CLOCK_SKEW_MS; monotonic time stays
// right.
const skewMs = Number(process.env['CARILLON_CLOCK_SKEW_MS'] ?? '0');
const RealDate = Date;

class SkewedDate extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + skewMs);
    else super(...given);
  }
  static now() {
    return RealDate.now() + skewMs;
  }
}

globalThis.Date = SkewedDate;
