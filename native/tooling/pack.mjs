// Packs the npm packages into dist/packages/: chasqui itself, and one for each folder of prebuilds/. Each contains a bill of
// materials and the licences of the code of others in it.
//
//   node native/tooling/pack.mjs [--release] [--prebuilds <folder>] [--out <folder>]
//
// --release refuses prebuilds that lack CPU modules or need a newer system than Node itself. The platform packages and
// Vulkan packages that are packed together become optional dependencies of chasqui, so publish them together.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runScript, SetupError } from '../../vendor/progress.mjs';
import { bundledNotices, mainBill, nativeBill } from './bill-of-materials.mjs';
import { bundlePrograms } from './bundle-programs.mjs';
import { bundleUi } from './bundle-ui.mjs';
import { copyDashboard } from './copy-dashboard.mjs';
import { runNpm } from './npm.mjs';
import { unlinkMissing } from './packed-pages.mjs';

const root = path.resolve(fileURLToPath(import.meta.url), '..', '..', '..');
const staging = path.join(root, 'build', 'packages');
const { values: options } = parseArgs({
  options: {
    release: { type: 'boolean', default: false },
    prebuilds: { type: 'string', default: path.join(root, 'prebuilds') },
    out: { type: 'string', default: path.join(root, 'dist', 'packages') },
  },
});
const output = path.resolve(options.out);
const manifest = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
const llama = JSON.parse(fs.readFileSync(path.join(root, 'vendor', 'llama.json'), 'utf8'));

const MB = 1e6;
/** Limit for a download without a GPU: the main package and one platform package. */
const mainAndPlatformLimit = 30 * MB;
/** The registry accepts about 200 MB, and all users of Linux and Windows download the Vulkan package. */
const gpuLimits = { vulkan: 20 * MB, cuda12: 190 * MB, cuda13: 190 * MB };
/** The versions of glibc and libstdc++ that Node's binaries for Linux need. */
const floor = { GLIBC: '2.28', GLIBCXX: '3.4.25' };
const billName = 'sbom.cdx.json';
/** Only needed for `chasqui build`, which reports it as missing. */
const buildTools = ['cmake-js', 'node-addon-api'];

/** Linked from README.md. */
const pages = [
  '.github/CONTRIBUTING.md',
  '.github/images',
  'bench/README.md',
  'docs',
  'ts/README.md',
  'ts/cli/README.md',
  'ts/cloud/README.md',
  'ts/desktop/README.md',
  'ts/http/README.md',
  'ts/hub/README.md',
  'ts/metrics/README.md',
  'ts/profiles/README.md',
];
const inMain = ['native', 'vendor', 'CMakeLists.txt', 'prebuilds/demo', 'README.md', 'LICENSE', ...pages];
const notInMain = [
  'native/tooling/bill-of-materials.mjs',
  'native/tooling/bundle-programs.mjs',
  'native/tooling/bundle-ui.mjs',
  'native/tooling/copy-dashboard.mjs',
  'native/tooling/describe-options.mjs',
  'native/tooling/gpu-module.mjs',
  'native/tooling/installers',
  'native/tooling/linux-arm64.cmake',
  'native/tooling/linux-x64-musl.cmake',
  'native/tooling/notices.mjs',
  'native/tooling/npm.mjs',
  'native/tooling/pack.mjs',
  'native/tooling/packed-pages.mjs',
  'native/tooling/prebuild.mjs',
  'native/tooling/prebuild-node-gyp.mjs',
  'native/tooling/start.mjs',
  'native/tooling/win32-x64.cmake',
  'prebuilds/demo/train',
  'vendor/.cache',
  'vendor/llama.cpp',
  'native/tooling/setup.mjs',
];

await runScript(async () => {
  fs.rmSync(staging, { recursive: true, force: true });
  fs.rmSync(output, { recursive: true, force: true });
  fs.mkdirSync(output, { recursive: true });
  const packages = listPrebuilds().map(packNative);
  const main = await packMain(packages);
  report(main, packages);
});

function listPrebuilds() {
  const names = fs.readdirSync(options.prebuilds).filter((name) => name !== 'demo');
  if (names.length === 0) throw new SetupError('prebuilds/ is empty. First run: npm run prebuild -- --backend cpu');
  return names;
}

/** Packs a platform's or a GPU module's package. */
function packNative(name) {
  const source = path.join(options.prebuilds, name);
  const about = JSON.parse(fs.readFileSync(path.join(source, 'manifest.json'), 'utf8'));
  const { target, backend, complete, files, components } = about;
  if (options.release && !complete) throw new SetupError(`prebuilds/${name} is for tests only: prebuild it anew`);
  const [os, cpu, libc = 'glibc'] = target.split('-');
  if (options.release && os === 'linux' && libc === 'glibc') checkFloor(source, files);
  const folder = path.join(staging, name);
  const binaries = backend ? folder : path.join(folder, 'prebuilds', `${os}-${cpu}`);
  const what = backend ? `The ${backend} module` : 'The native part';
  copy(path.join(source, 'NOTICES'), path.join(folder, 'NOTICES'));
  for (const file of files.filter((each) => each !== 'NOTICES'))
    copy(path.join(source, file), path.join(binaries, file));
  copy(path.join(root, 'LICENSE'), path.join(folder, 'LICENSE'));
  fs.writeFileSync(path.join(folder, 'README.md'), `${what} of chasqui ${manifest.version} for ${target}.\n`);
  const described = {
    name: `@chasqui/${name}`,
    version: manifest.version,
    description: `${what} of chasqui for ${target}.`,
    license: manifest.license,
  };
  writeJson(path.join(folder, billName), nativeBill(described, components, llama));
  writeJson(path.join(folder, 'package.json'), {
    ...described,
    os: [os],
    cpu: [cpu],
    ...(os === 'linux' && { libc: [libc] }),
    // Otherwise Yarn keeps it in an archive, which the system's loader cannot read.
    preferUnplugged: true,
  });
  return { name: `@chasqui/${name}`, backend, ...pack(folder) };
}

function checkFloor(folder, files) {
  for (const name of files.filter((file) => /\.(node|so)$/.test(file))) {
    const { stdout, status } = spawnSync('readelf', ['-V', '--wide', path.join(folder, name)], { encoding: 'utf8' });
    if (status !== 0) throw new SetupError('readelf, of binutils, is needed to see what the binaries need');
    for (const [, library, version] of stdout.matchAll(/\b(GLIBC|GLIBCXX)_([\d.]+)/g)) {
      if (version.localeCompare(floor[library], 'en', { numeric: true }) <= 0) continue;
      throw new SetupError(
        `${path.join(folder, name)} needs ${library} ${version}, and ${floor[library]} is the most that may be asked ` +
          'for: prebuild it in the container that .github/workflows/packages.yml names',
      );
    }
  }
}

async function packMain(packages) {
  const folder = path.join(staging, 'chasqui');
  const excluded = notInMain.map((name) => path.join(root, name));
  for (const name of inMain) {
    fs.cpSync(path.join(root, name), path.join(folder, name), {
      recursive: true,
      filter: (source) => !excluded.includes(source),
    });
  }
  unlinkMissing(folder);
  compileTypeScript(path.join(folder, 'dist'));
  copyDashboard(path.join(folder, 'dist'));
  const inPrograms = await bundlePrograms(path.join(folder, 'dist'));
  const bundled = [...new Set([...(await bundleUi(path.join(folder, 'dist'))), ...inPrograms])].sort();
  fs.writeFileSync(path.join(folder, 'NOTICES'), bundledNotices(root, bundled));
  writeJson(path.join(folder, billName), mainBill(root, manifest, bundled));
  const { scripts, devDependencies, files, ...kept } = manifest;
  // CUDA modules are large, and npm cannot detect whether they are useful.
  const comeAlong = packages.filter(({ backend = '' }) => !backend.startsWith('cuda'));
  writeJson(path.join(folder, 'package.json'), {
    ...kept,
    optionalDependencies: Object.fromEntries(comeAlong.map(({ name }) => [name, manifest.version])),
    peerDependencies: {
      ...kept.peerDependencies,
      ...Object.fromEntries(buildTools.map((name) => [name, devDependencies[name]])),
    },
    peerDependenciesMeta: {
      ...kept.peerDependenciesMeta,
      ...Object.fromEntries(buildTools.map((name) => [name, { optional: true }])),
    },
  });
  return { name: manifest.name, ...pack(folder) };
}

function compileTypeScript(outDir) {
  const tsc = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = [tsc, '-p', path.join(root, 'ts'), '--outDir', outDir, '--sourceMap', 'false'];
  const result = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  if (result.status !== 0) throw new SetupError(`TypeScript does not compile:\n${result.stdout}${result.stderr}`);
}

function copy(from, to) {
  fs.mkdirSync(path.dirname(to), { recursive: true });
  fs.copyFileSync(from, to);
}

function writeJson(file, content) {
  fs.writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);
}

function pack(folder) {
  const result = runNpm(root, ['pack', folder, '--json', '--ignore-scripts', '--pack-destination', output]);
  if (result.status !== 0) throw new SetupError(`npm pack ${folder} failed: ${result.stderr}`);
  const [{ filename, size, unpackedSize }] = JSON.parse(result.stdout);
  return { filename, size, unpackedSize };
}

function report(main, packages) {
  for (const { filename, size, unpackedSize } of [main, ...packages]) {
    const sizes = `${megabytes(size)} packed, ${megabytes(unpackedSize)} unpacked`;
    console.log(`${path.relative(root, path.join(output, filename))}: ${sizes}`);
  }
  for (const { name, backend, size } of packages) {
    const limit = backend ? gpuLimits[backend] : mainAndPlatformLimit - main.size;
    if (size <= limit) continue;
    throw new SetupError(`${name} is ${megabytes(size)}, and ${megabytes(limit)} is the most that it may be`);
  }
}

function megabytes(bytes) {
  return `${(bytes / MB).toFixed(1)} MB`;
}
