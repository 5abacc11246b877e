/** `chasqui build`: compiles the native part on this machine, for platforms without a package or for a custom build. */
import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { ownCall } from '../own-call.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** Not dependencies of the package, because only this command needs them. */
const TOOLS = { 'cmake-js': '8', 'node-addon-api': '8' };

export function buildCommand(): Command {
  return new Command('build')
    .description('Compile the native part on this machine; the build takes precedence over the installed package.')
    .argument(
      '[options...]',
      'Build options: --backend, --all-variants, --define, --jobs; see: chasqui build -- --help',
    )
    .allowUnknownOption()
    .helpOption('-h, --help', 'Show help')
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
  if (process.exitCode === 0) console.log(`Built. \`${ownCall()} doctor\` shows what it can do here.`);
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
