/** Folders for the build results of the comparison. Git ignores them, and they can be deleted. */
import path from 'node:path';
import { root } from '../../test/support/places.js';

export const peersFolder = path.join(root, 'build', 'peers');
export const logsFolder = path.join(root, 'build', 'bench-logs');
