/** Eyes for the demo model. */
import { syntheticProjector } from '../../bench/peers/projectors.js';

/** What the command line needs so that the demo model takes pictures; it does not understand them. */
export function seeingArgs(): string[] {
  const shape = { imageSize: 32, patchSize: 16, layers: 1, width: 32, hidden: 64, heads: 2, modelWidth: 160 };
  return ['--mmproj', syntheticProjector({ kind: 'mlp', ...shape })];
}
