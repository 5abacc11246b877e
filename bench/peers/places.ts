/** Where the comparison keeps what it builds; all of it is ignored by git and may be deleted. */
import path from 'node:path';
import { root } from '../../test/support/places.js';

export const peersFolder = path.join(root, 'build', 'peers');
export const logsFolder = path.join(root, 'build', 'bench-logs');
