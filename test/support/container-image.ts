/** The image of the Containerfile, built from what this tree packs, and podman for tests. */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Podman } from '../../ts/cloud/runners/podman.js';
import { pack } from '../packages/installation.js';

/** CHASQUI_TEST_IMAGE names an existing image, to repeat a test without building it. */
export const IMAGE = process.env.CHASQUI_TEST_IMAGE ?? 'localhost/chasqui-test';
const BASE = 'localhost/chasqui-base';
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Tests of one process share it. */
let built = process.env.CHASQUI_TEST_IMAGE !== undefined;

/** Builds the image, with npm's cache of this machine. */
export function buildImage(): void {
  if (built) return;
  const context = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-image-'));
  try {
    const packages = path.join(context, 'dist', 'packages');
    fs.mkdirSync(packages, { recursive: true });
    for (const file of pack()) fs.copyFileSync(file, path.join(packages, path.basename(file)));
    for (const name of ['package.json', 'package-lock.json', 'Containerfile']) {
      fs.copyFileSync(path.join(ROOT, name), path.join(context, name));
    }
    const cache = spawnSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).stdout.trim();
    podman(
      ...['build', '--quiet', '--format=docker', '--isolation=chroot', '--network=host', `--tag=${IMAGE}`],
      ...[`--build-arg=NODE=${BASE}`, `--build-arg=BASE=${BASE}`, `--volume=${cache}:/root/.npm`, context],
    );
    built = true;
  } finally {
    fs.rmSync(context, { recursive: true, force: true });
  }
}

/** Runs a command of podman's to its end. Throws what it complains of. */
export function podman(...args: string[]): string {
  return run(new Podman().command, args);
}

/** The same in the network of a process, which is the host's to podman. */
export function podmanInNetwork(pid: number, ...args: string[]): string {
  return run(['nsenter', `--net=/proc/${pid}/ns/net`, ...new Podman().command], args);
}

function run([program, ...options]: readonly [string, ...string[]], args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, [...options, ...args], { encoding: 'utf8' });
  if (status === 0) return stdout.trim();
  throw new Error(`podman ${args.join(' ')} ended with ${status}: ${stdout}${stderr}`);
}

/** Returns `podman inspect` of a container. */
export function inspect<Known extends object>(container: string): Known {
  return JSON.parse(podman('container', 'inspect', container))[0];
}

export function hasContainer(name: string): boolean {
  return podman('ps', '--all', '--format={{.Names}}').split('\n').includes(name);
}
