import { spawnSync } from 'node:child_process';
import process from 'node:process';

/** Runs npm in `folder` and returns the result of `spawnSync`. */
export function runNpm(folder, args) {
  const options = { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 64 << 20 };
  const npm = process.env.npm_execpath;
  return npm?.endsWith('.js')
    ? spawnSync(process.execPath, [npm, ...args], options)
    : spawnSync('npm', args, { ...options, shell: process.platform === 'win32' });
}
