// Runs CMake through cmake-js, which provides Node's headers.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { clearLine, SetupError, showProgress } from '../../vendor/progress.mjs';
import { BuildProgress, stepsOf } from './build-progress.mjs';
import { spawnGroup } from './child-group.mjs';

const root = path.resolve(fileURLToPath(import.meta.url), '..', '..', '..');

/** Runs a cmake-js command in a build directory and shows its progress. Appends the output to build.log there. */
export async function runCmakeJs(args, { directory, jobs, title }) {
  const script = createRequire(import.meta.url).resolve('cmake-js/bin/cmake-js');
  const logFile = path.join(directory, 'build.log');
  const targets = args.filter((_, at) => args[at - 1] === '--target');
  const progress = new BuildProgress(args[0] === 'build' ? stepsOf(directory, targets) : []);
  const options = ['--out', directory, ...(jobs ? ['--parallel', jobs] : []), '--log-level', 'warn'];
  const child = spawnGroup(process.execPath, [script, ...args, ...options], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log = fs.createWriteStream(logFile, { flags: 'a' });
  let tail = [];
  for (const stream of [child.stdout, child.stderr]) {
    forEachLine(stream, (line) => {
      log.write(`${line}\n`);
      tail = keepTail(tail, line);
      const text = progress.add(line);
      if (text) showProgress(`${title}: ${text}`);
    });
  }
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  clearLine();
  log.end();
  if (code !== 0)
    throw new SetupError(`${title}: failed. The whole log is in ${logFile}, its end:\n\n${tail.join('\n')}`);
}

function forEachLine(stream, visit) {
  let rest = '';
  stream.setEncoding('utf8').on('data', (text) => {
    const lines = (rest + text).split(/\r?\n/);
    rest = lines.pop();
    lines.forEach(visit);
  });
  stream.on('end', () => rest && visit(rest));
}

/** The last lines, starting with the first failed command: parallel commands may print more lines after it. */
function keepTail(tail, line) {
  // Omits the compiler's command line and cmake-js's summary, which repeat the error.
  if (line.startsWith('ERROR OMG') || /^\S*(cmake|ccache|c\+\+|g\+\+|clang\+\+)\S* .* -c /.test(line)) return tail;
  const failed = tail.findIndex((kept) => kept.startsWith('FAILED:'));
  if (failed >= 0 && tail.length - failed > 60) return tail;
  return [...tail, line].slice(failed >= 0 ? failed : -40);
}

/** @throws {SetupError} with the packages to install. */
export function checkPrerequisites() {
  const missing = [];
  const cmake = /cmake version (\d+)\.(\d+)/.exec(spawnSync('cmake', ['--version'], { encoding: 'utf8' }).stdout ?? '');
  if (!cmake || Number(cmake[1]) * 1000 + Number(cmake[2]) < 3021) {
    missing.push(`CMake 3.21 or newer (found ${cmake ? `${cmake[1]}.${cmake[2]}` : 'none'})`);
  }
  if (process.platform !== 'win32') {
    const compilers = [process.env.CXX, 'c++', 'g++', 'clang++'].filter(Boolean);
    if (!compilers.some(answers)) missing.push('a C++17 compiler');
    if (!['ninja', 'make'].some(answers)) missing.push('ninja or make');
  }
  if (missing.length > 0) {
    throw new SetupError(`to build the native addon, please install ${missing.join(', ')}. ${installAdvice()}`);
  }
}

function answers(command) {
  return spawnSync(command.split(' ')[0], ['--version']).status === 0;
}

function installAdvice() {
  if (process.platform === 'darwin') return 'On macOS: xcode-select --install, and brew install cmake ninja';
  if (process.platform === 'win32')
    return 'On Windows: winget install Kitware.CMake, and the Visual Studio Build Tools';
  return 'On Debian or Ubuntu: sudo apt install cmake ninja-build g++';
}
