// Packages of PyPI that tests use, and whether this machine can have them. Plain JavaScript, because test/run.mjs reads it
// too.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';

/** The clients of the tier `clients-python`. */
export const PYTHON_CLIENTS = ['openai==2.54.0', 'anthropic==2.14.0', 'ollama==0.6.3', 'litellm==1.110.2'];

export const pypiFolder = path.join(process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache'), 'chasqui', 'pypi');

/** The virtual environment of these packages. */
export function environmentOf(requirements) {
  return path.join(pypiFolder, requirements.join('+'));
}

/** The file that an environment has once all its packages are installed. */
export function completeMark(environment) {
  return path.join(environment, 'complete');
}

/** Returns why a tier with large packages cannot run, or undefined. With `requirements` in the cache, it needs no network. */
export function noPypi(tier, requirements = []) {
  const isWanted = process.env.CHASQUI_CI === 'full' || process.argv.includes(tier);
  if (!isWanted) return 'it runs with CHASQUI_CI=full, or if it is named';
  if (requirements.length > 0 && fs.existsSync(completeMark(environmentOf(requirements)))) return undefined;
  const { status } = spawnSync('python3', ['-m', 'pip', 'index', 'versions', 'tokenizers']);
  return status === 0 ? undefined : 'no Python with pip, or PyPI cannot be reached';
}
