/**
 * Builds and runs scheduler-sim, which needs neither llama.cpp nor the addon: `npm run bench:sim -- --help`. With `routing`
 * as the first argument, it simulates routing to several runners instead.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

// The routing simulator has no native part.
if (process.argv[2] === 'routing') {
  await import('./routing/run.js');
  process.exit();
}

const root = fileURLToPath(new URL('../../', import.meta.url));
const build = `${root}build/scheduler-sim`;

function cmake(...args: string[]): void {
  const { status, stdout, stderr } = spawnSync('cmake', args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`cmake ${args.join(' ')} failed:\n${stdout}${stderr}`);
}

const core = ['-DCHASQUI_CORE_ONLY=ON', '-DCHASQUI_BENCH=ON', `-DCMAKE_RUNTIME_OUTPUT_DIRECTORY_RELEASE=${build}`];
cmake('-S', root, '-B', build, '-DCMAKE_BUILD_TYPE=Release', ...core);
cmake('--build', build, '--config', 'Release', '--target', 'scheduler-sim', '--parallel');
const { status } = spawnSync(`${build}/scheduler-sim`, process.argv.slice(2), { stdio: 'inherit' });
process.exitCode = status ?? 1;
