/** Where the comparison keeps what it builds; all of it is ignored by git and may be deleted. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));
export const peersFolder = path.join(root, 'build', 'peers');
export const modelsFolder = path.join(root, 'build', 'bench-models');
export const logsFolder = path.join(root, 'build', 'bench-logs');
