/** The worker process: loads one model and computes for the server that started it. */
import { openLocal } from '../local/open-local.js';
import { serveParent } from './serve-parent.js';
import { WorkerTarget } from './worker-target.js';

serveParent({
  async open({ path, options }, link) {
    const { core, info } = await openLocal(path, options, link, link.sendEvents);
    return {
      info,
      target: new WorkerTarget(core, link.failJob),
      stats: () => core.call('stats', []),
      close: () => core.close(),
    };
  },
  exit: () => process.exit(0),
  oomScore: 500,
});
