/**
 * The preparation process: renders, tokenizes and compiles for an engine, with the vocabulary of its model alone. A request
 * may crash it, block it, or make it take more and more memory: then the process ends, and the server starts another.
 */
import { resolve } from 'node:path';
import { loadAddon } from '../../native/load-addon.js';
import { completeLoadOptions } from '../load-options.js';
import { toPreparerRequest } from '../to-native-options.js';
import { MemoryWatch } from './memory-watch.js';
import { EXIT_CODES } from './messages.js';
import { PreparerTarget } from './preparer-target.js';
import { serveParent } from './serve-parent.js';

const MIB = 2 ** 20;
/** Ends at once: there is nothing to free, and threads may be at work. */
const quit = (code: number) => loadAddon().addon.quit(code);

serveParent({
  async open({ path, options }) {
    const { addon } = loadAddon();
    const request = { ...toPreparerRequest(resolve(path), options), stuckExitCode: EXIT_CODES.stuck };
    const preparer = addon.openPreparer(request);
    const watch = new MemoryWatch({
      mayGrowBy: completeLoadOptions(options).prepareMemoryMiB * MIB,
      onExceeded: () => quit(EXIT_CODES.memory),
    });
    const openParser: typeof addon.openParser = (format) => addon.openParser(format);
    return {
      info: null,
      target: new PreparerTarget(preparer, openParser, (work) => watch.during(work)),
      stats: async () => null,
      close: async () => {},
    };
  },
  exit: () => quit(0),
  oomScore: 800,
});
