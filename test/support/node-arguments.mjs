// How test processes run TypeScript: from the compiled modules in dist/ if they are current, otherwise from the sources.
// Compiling ts/ in each process takes 0.5 s of CPU time.
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { isDistCurrent } from '../../native/tooling/dist-stamp.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
export const register = new URL('./register.mjs', import.meta.url).href;

/** CHASQUI_TEST_DIST (1 or 0) hands the decision on to child processes. */
export function usesDist() {
  process.env.CHASQUI_TEST_DIST ??= isDistCurrent() ? '1' : '0';
  return process.env.CHASQUI_TEST_DIST === '1';
}

export function nodeArguments(file) {
  const absolute = path.resolve(root, file);
  if (absolute.endsWith('.mjs')) return [absolute];
  if (!usesDist() || !absolute.startsWith(path.join(root, 'ts', path.sep))) return ['--import', register, absolute];
  return [path.join(root, 'dist', path.relative(path.join(root, 'ts'), absolute).replace(/\.ts$/, '.js'))];
}
