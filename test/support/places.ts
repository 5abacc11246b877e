/** Paths in this clone. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));

/** Models that are made once and kept; git ignores the folder, and it may be deleted. */
export const modelsFolder = path.join(root, 'build', 'bench-models');
