// Makes prebuilds/<platform>-<arch>/, what a platform's package holds: node native/prebuild.mjs --backend cpu
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { withSetupLock } from '../vendor/lock.mjs';
import { runScript, SetupError, say } from '../vendor/progress.mjs';
import { writeNotices } from './notices.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const target = `${process.platform}-${process.arch}`;
const staging = path.join(root, 'build', 'prebuild');
const shim = path.join(root, 'native', 'prebuild-node-gyp.mjs');

const help = `Usage: npm run prebuild -- --backend cpu [options]

  --backend <name>    cpu: the addon, and every CPU module of this platform; on macOS Metal is among them
  --local-variants    only the CPU modules that this machine can use: quick, for tests, not for publishing
  --jobs <n>          run n compilers at a time
  --out <folder>      write to <folder>/prebuilds instead`;

const argumentTypes = {
  backend: { type: 'string' },
  'local-variants': { type: 'boolean', default: false },
  jobs: { type: 'string' },
  out: { type: 'string', default: root },
  help: { type: 'boolean', default: false },
};

// npm takes the script of this name for one to run before `build`, and then gives it no arguments.
if (process.argv.length > 2) await runScript(main);

async function main() {
  const options = readOptions();
  if (options.help) return console.log(help);
  await withSetupLock(() => prebuild(options));
}

function readOptions() {
  let values;
  try {
    ({ values } = parseArgs({ options: argumentTypes }));
  } catch (error) {
    throw new SetupError(`${error.message}\n\n${help}`);
  }
  if (!values.help && values.backend !== 'cpu') {
    throw new SetupError(`--backend ${values.backend ?? '(none given)'}: only cpu can be packaged yet\n\n${help}`);
  }
  return values;
}

async function prebuild(options) {
  const jobs = options.jobs ? ['--jobs', options.jobs] : [];
  const variants = options['local-variants'] ? [] : ['--all-variants'];
  const output = path.join(options.out, 'prebuilds', target);
  fs.rmSync(output, { recursive: true, force: true });
  await runPrebuildify(options.out, ['--once', ...variants, ...jobs]);
  const binaries = fs.readdirSync(output);
  fs.writeFileSync(path.join(output, 'NOTICES'), writeNotices(root, binaries));
  const files = [...binaries, 'NOTICES'].sort();
  const manifest = { target, complete: !options['local-variants'], files };
  fs.writeFileSync(path.join(output, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  say(`${output}: ${files.length} files${manifest.complete ? '' : ', for tests only: CPU modules are missing'}`);
}

/** Strips a copy of what the shim built: whoever runs from the build itself would crash if it changed under him. */
async function runPrebuildify(out, buildOptions) {
  fs.rmSync(staging, { recursive: true, force: true });
  fs.mkdirSync(staging, { recursive: true });
  const script = path.join(path.dirname(createRequire(import.meta.url).resolve('prebuildify/package.json')), 'bin.js');
  const child = spawn(
    process.execPath,
    [script, '--napi', '--strip', '--name', 'chasqui', '--out', path.resolve(out)],
    {
      cwd: staging,
      stdio: 'inherit',
      env: {
        ...process.env,
        // On Windows prebuildify starts it through a shell, which does not read the first line of a script.
        PREBUILD_NODE_GYP: process.platform === 'win32' ? `"${process.execPath}" "${shim}"` : shim,
        CHASQUI_PREBUILD_OPTIONS: JSON.stringify(buildOptions),
      },
    },
  );
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  if (code !== 0) throw new SetupError(`prebuildify failed with exit code ${code}`);
}
