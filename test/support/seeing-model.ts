/** Eyes for the demo model, which see without understanding. */
import { syntheticProjector } from '../../bench/peers/projectors.js';

export function projectorPath(): string {
  const shape = { imageSize: 32, patchSize: 16, layers: 1, width: 32, hidden: 64, heads: 2, modelWidth: 160 };
  return syntheticProjector({ kind: 'mlp', ...shape });
}

/** For the command line. */
export function seeingArgs(): string[] {
  return ['--mmproj', projectorPath()];
}
