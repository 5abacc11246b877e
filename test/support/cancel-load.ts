import { enginesOf } from './engine-process.js';
import type { RunningDesktop } from './start-desktop.js';
import { until } from './until.js';

/**
 * Unloads the model, begins a load, and cancels it while its process is stopped with SIGSTOP. `load` resolves to whether it
 * was cancelled. If the load had ended before, everything is repeated. Linux only.
 */
export async function cancelLoad(
  app: RunningDesktop,
  model: string,
  load: () => Promise<boolean>,
  cancel: () => Promise<void>,
): Promise<void> {
  const server = app.child.process.pid as number;
  await until(async () => {
    await app.done('POST', '/api/v1/models/unload', { instance_id: model });
    const before = enginesOf(server);
    const loading = load();
    let engine = 0;
    await until(() => {
      engine = enginesOf(server).find((each) => !before.includes(each)) ?? 0;
      return engine > 0;
    }, 'the process of the load');
    process.kill(engine, 'SIGSTOP');
    await cancel();
    try {
      process.kill(engine, 'SIGCONT');
    } catch {
      // It has ended.
    }
    return await loading;
  }, 'a load that is cancelled');
}
