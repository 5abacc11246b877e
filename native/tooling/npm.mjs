import { spawnSync } from 'node:child_process';
import process from 'node:process';

/** Runs npm in `folder` and returns the result of `run`, which is called like `spawnSync`. */
export function runNpm(folder, args, run = spawnSync) {
  const options = { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 64 << 20 };
  const npm = process.env.npm_execpath;
  return npm?.endsWith('.js')
    ? run(process.execPath, [npm, ...args], options)
    : run('npm', args, { ...options, shell: process.platform === 'win32' });
}
