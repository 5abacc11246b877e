/** `chasqui build`: compiles the native part here, for platforms without a package and for those who want their own. */
import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** Needed for this command only, so nobody else has to install them. */
const TOOLS = { 'cmake-js': '8', 'node-addon-api': '8' };

export function buildCommand(): Command {
  return new Command('build')
    .description('Compile the native part on this machine; it is preferred to the installed one from then on.')
    .argument('[options...]', 'of the build: --backend, --all-variants, --define, --jobs (see --help after --)')
    .allowUnknownOption()
    .helpOption('-h, --help', 'explain the command')
    .action(build);
}

async function build(options: string[]): Promise<void> {
  const problem = missingTools() ?? unwritable();
  if (problem !== undefined) {
    console.error(`chasqui: ${problem}`);
    process.exitCode = 1;
    return;
  }
  const child = spawn(process.execPath, [join(root, 'native', 'tooling', 'build.mjs'), ...options], {
    stdio: 'inherit',
  });
  process.exitCode = await new Promise<number>((resolve) => {
    child.once('error', () => resolve(1)).once('close', (code) => resolve(code ?? 1));
  });
  if (process.exitCode === 0) console.log('Built. `npx chasqui doctor` shows what it can do here.');
}

function missingTools(): string | undefined {
  const require = createRequire(import.meta.url);
  const missing = Object.entries(TOOLS).filter(([name]) => !canResolve(require, `${name}/package.json`));
  if (missing.length === 0) return undefined;
  const specs = missing.map(([name, range]) => `${name}@${range}`).join(' ');
  return `to build, first run: npm install --save-dev ${specs}`;
}

function canResolve(require: NodeJS.Require, specifier: string): boolean {
  try {
    require.resolve(specifier);
    return true;
  } catch {
    return false;
  }
}

function unwritable(): string | undefined {
  try {
    accessSync(root, constants.W_OK);
    return undefined;
  } catch {
    return `the build goes into ${root}, which this account may not write to`;
  }
}
