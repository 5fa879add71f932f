// Loaded by Node into every process of a service whose machine tells the wrong time (`--import`), before the service itself: its
// clock on the wall is off by CARILLON_CLOCK_SKEW_MS. Time that only passes is as it is.
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
