/** Publishes an event when the state of a loaded model changes. */
import type { EventBus } from './event-bus.js';
import type { Instances } from './instances.js';

const MIN_GAP_MS = 200;
/** Poll interval: request counts and memory change without an event. */
const MAX_GAP_MS = 1000;

/** Returns a function that stops it. */
export function watchModels(instances: Instances, events: EventBus): () => void {
  let told = '';
  let lastAt = 0;
  let pending: NodeJS.Timeout | undefined;
  const tell = () => {
    pending = undefined;
    lastAt = Date.now();
    if (!events.isWatched) return;
    const models = instances.list();
    const text = JSON.stringify(models);
    if (text !== told) events.publish('models', models);
    told = text;
  };
  const soon = () => {
    pending ??= setTimeout(tell, Math.max(0, lastAt + MIN_GAP_MS - Date.now()));
  };
  const stop = instances.pool.watch(soon);
  const always = setInterval(soon, MAX_GAP_MS);
  always.unref();
  return () => {
    stop();
    clearInterval(always);
    clearTimeout(pending);
  };
}
