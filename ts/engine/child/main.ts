/** The process of an engine: loads one model and computes for the server that started it. */
import { openLocal } from '../local/open-local.js';
import { coreMethods } from './core-methods.js';
import { serveParent } from './serve-parent.js';

serveParent({
  async open({ path, options }, link) {
    const { core, info } = await openLocal(path, options, link, link.sendEvents);
    return {
      info,
      methods: coreMethods(core, link.failJob),
      stats: () => core.stats(),
      close: () => core.close(),
    };
  },
  exit: () => process.exit(0),
  oomScore: 500,
});
