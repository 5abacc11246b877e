// To be imported before a server: engines and preparation processes that failed are started again after a twentieth of the
// usual delay. No other code uses the default import of this module.
import timers from 'node:timers/promises';

const { setTimeout } = timers;
timers.setTimeout = (ms, ...rest) => setTimeout(ms / 20, ...rest);
