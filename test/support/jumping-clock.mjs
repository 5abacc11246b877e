// To be imported before a program: with each SIGPWR its wall clock jumps an hour ahead, then two back, and so on. Timers
// and performance.now() go by a clock that does not jump, as they do when the system's wall clock is set.
import process from 'node:process';

const HOUR_MS = 3_600_000;
const RealDate = Date;
let offset = 0;

globalThis.Date = class extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + offset);
    else super(...given);
  }

  static now() {
    return RealDate.now() + offset;
  }
};

process.on('SIGPWR', () => {
  offset = offset === HOUR_MS ? -HOUR_MS : HOUR_MS;
});
