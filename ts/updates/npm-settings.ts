/** The settings of npm that concern update checks. */
import { execFile } from 'node:child_process';
import { homedir } from 'node:os';

const TIMEOUT_MS = 10_000;
const NAMES = ['registry', 'offline', 'update-notifier'];

/**
 * Returns the registry of npm's configuration. Returns null if npm is missing or offline, if its own `update-notifier` is off,
 * or if the address has a password, which npm does not print. Runs in the home folder, because the `.npmrc` of a project must
 * not choose the registry.
 */
export async function readRegistry(environment: NodeJS.ProcessEnv): Promise<URL | null> {
  const isWindows = process.platform === 'win32';
  const options = { cwd: homedir(), env: environment, timeout: TIMEOUT_MS, shell: isWindows };
  const printed = await new Promise<string>((resolve) => {
    execFile(isWindows ? 'npm.cmd' : 'npm', ['config', 'get', ...NAMES], options, (error, stdout) =>
      resolve(error === null ? stdout : ''),
    );
  });
  const values = Object.fromEntries(printed.split(/\r?\n/).map((line) => line.split(/=(.*)/s)));
  if (values.offline !== 'false' || values['update-notifier'] !== 'true') return null;
  return /^https?:/.test(values.registry) && URL.canParse(values.registry) ? new URL(values.registry) : null;
}
