/** Server settings for the models of a runner. */
import { modelIdOf } from '../../engine/load-options.js';
import type { StartSettings } from '../../server/start.js';
import type { RunnerModelFile } from './protocol.js';

/** The supervisor has checked the memory, so all models are loaded and pinned. */
export function servedModels(models: readonly RunnerModelFile[]): Required<Pick<StartSettings, 'models' | 'model'>> {
  const budgetBytes = Number.MAX_SAFE_INTEGER;
  const [first, ...others] = models;
  if (first !== undefined && others.length === 0) {
    return { models: { paths: [first.modelPath], budgetBytes }, model: first.options };
  }
  const presets = models.map(({ modelPath: file, options }) => {
    return { id: modelIdOf(file, options), file, options, pin: true };
  });
  return { models: { paths: [], presets, budgetBytes }, model: {} };
}
