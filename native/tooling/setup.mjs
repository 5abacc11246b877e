// Sets up a fresh clone: npm packages, llama.cpp's source, the native addon, the compiled TypeScript. Skips steps that are
// up to date. npm start and npm test run this first, so it uses no packages.
//
//   node native/tooling/setup.mjs [build options] [--then <script> [arguments]]
//   node native/tooling/setup.mjs --packages    only installs the npm packages
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { withSetupLock } from '../../vendor/lock.mjs';
import { runScript, SetupError, say } from '../../vendor/progress.mjs';
import { runGroup } from './child-group.mjs';
import { copyDashboard } from './copy-dashboard.mjs';
import { describeOptions } from './describe-options.mjs';
import { isDistCurrent, writeDistStamp } from './dist-stamp.mjs';
import { runNpm } from './npm.mjs';

const root = path.resolve(fileURLToPath(import.meta.url), '..', '..', '..');
const oldestNode = [20, 19];

const at = process.argv.indexOf('--then');
const buildArguments = process.argv.slice(2, at < 0 ? undefined : at);
const [script, ...scriptArguments] = at < 0 ? [] : process.argv.slice(at + 1);

endWithShell();
await runScript(async () => {
  checkNode();
  if (buildArguments.includes('--help')) return (await importBuild()).showHelp();
  await withSetupLock(async () => {
    await installPackages();
    if (buildArguments.includes('--packages')) return;
    await (await importBuild()).buildNative(buildArguments);
    await compileTypeScript();
  });
});

if (script && !process.exitCode) {
  process.argv = [process.execPath, path.resolve(root, script), ...scriptArguments];
  await import(pathToFileURL(process.argv[1]).href);
}

/** npm forwards signals only to the shell that runs this script, so exit when that shell ends. */
function endWithShell() {
  if (!process.env.npm_lifecycle_event) return;
  const shell = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, 250);
  watch.unref();
}

/** Imported late, so an outdated Node still reports its version. */
function importBuild() {
  return import('./build.mjs');
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1])) {
    throw new SetupError(
      `Node.js ${oldestNode.join('.')} or newer is needed; this is ${process.versions.node}. See https://nodejs.org`,
    );
  }
}

async function installPackages() {
  if (packagesAreUpToDate()) return;
  say('Installing npm packages ...');
  const result = await runNpm(root, ['ci', '--no-audit', '--no-fund', '--loglevel=error'], runGroup);
  if (result.status !== 0) {
    throw new SetupError(`npm ci failed: ${result.error?.message ?? explain(result.stderr)}`);
  }
}

/** npm's error message, without its help text. */
function explain(stderr) {
  const lines = stderr.split('\n').map((line) => line.replace(/^npm error ?/, ''));
  return lines.slice(0, 15).join('\n').trim();
}

/** npm writes the list of installed packages last. */
function packagesAreUpToDate() {
  const wanted = readPackages('package-lock.json');
  const installed = readPackages(path.join('node_modules', '.package-lock.json'));
  return Object.entries(wanted).every(
    ([name, { version, optional }]) => name === '' || optional || installed[name]?.version === version,
  );
}

function readPackages(name) {
  const file = path.join(root, name);
  return fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')).packages : {};
}

async function compileTypeScript() {
  if (isDistCurrent()) return;
  say('Compiling TypeScript ...');
  // Compiled files of deleted sources could still be imported.
  fs.rmSync(path.join(root, 'dist'), { recursive: true, force: true });
  const tsc = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const result = await runGroup(process.execPath, [tsc, '-p', path.join(root, 'ts')], { cwd: root });
  if (result.status !== 0) throw new SetupError(`TypeScript does not compile:\n${result.stdout}${result.stderr}`);
  copyDashboard(path.join(root, 'dist'));
  await describeOptions(path.join(root, 'dist'));
  // Imported late: the bundler is an npm package.
  const { bundleUi } = await import('./bundle-ui.mjs');
  await bundleUi(path.join(root, 'dist'));
  const { bundlePrograms } = await import('./bundle-programs.mjs');
  await bundlePrograms(path.join(root, 'dist'));
  writeDistStamp();
}
