/** Runs podman commands, and checks that podman can run containers here. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { type ChasquiError, invalidOptions } from '../../errors.js';
import { withPipes } from '../../process/open-files.js';
import { VERSION } from '../../version.js';
import { confinement, IN_IMAGE } from './container-arguments.js';

export const DEFAULT_IMAGE = 'localhost/chasqui';

interface Output {
  code: number | null;
  stdout: string;
  stderr: string;
}

interface PodmanInfo {
  host: {
    cgroupControllers?: string[] | null;
    cgroupVersion?: string;
    security?: { rootless?: boolean };
    /** Rootless podman: the accounts available to containers. */
    idMappings?: { uidmap?: { size: number }[] | null };
  };
}

export interface ListedContainer {
  Id: string;
  State: string;
  Labels: Readonly<Record<string, string>> | null;
}

const COMMAND_MS = 60_000;
const MAX_OUTPUT_BYTES = 4 << 20;
const NEEDED_CONTROLLERS = ['memory', 'pids', 'cpu'];
/** Memory limit of the trial container. */
const TRIAL_BYTES = 256 * 2 ** 20;

export class Podman {
  constructor(readonly image: string = DEFAULT_IMAGE) {}

  /** Without systemd, cgroups must be managed directly, whatever podman's default is. */
  get command(): [string, ...string[]] {
    return existsSync('/run/systemd/system') ? ['podman'] : ['podman', '--cgroup-manager=cgroupfs'];
  }

  /**
   * Starts a trial container with the options of runners. Returns whether podman is rootless.
   *
   * @throws {ChasquiError} `invalid_options`: podman, the image, or a cgroup controller is missing
   */
  async check(): Promise<{ rootless: boolean }> {
    const { host } = JSON.parse(
      (await this.#orRefuse('does not work', ['info', '--format=json'])).stdout,
    ) as PodmanInfo;
    const rootless = host.security?.rootless ?? false;
    const missing = NEEDED_CONTROLLERS.filter((name) => !host.cgroupControllers?.includes(name));
    if (missing.length > 0) throw refused(cannotLimit(missing, rootless, host.cgroupVersion));
    if ((await this.run(['image', 'exists', this.image])).code !== 0) throw noImage(this.image, hasOneAccount(host));
    const trial = ['run', '--rm', ...confinement({ memoryBytes: TRIAL_BYTES, cpus: null, gpus: [] }), this.image];
    const { stdout } = await this.#orRefuse('cannot start a container', [...trial, IN_IMAGE.commands, '--version']);
    const [found] = stdout.split(/\s/, 1);
    if (found === VERSION) return { rootless };
    throw refused(`\`runnerImage\` is ${this.image}, which has chasqui ${found}, but this is ${VERSION}. Rebuild it.`);
  }

  /** Lists containers with a label, running or not, of all clouds on this machine. */
  async list(label: string): Promise<ListedContainer[]> {
    const { code, stdout } = await this.run(['ps', '--all', '--no-trunc', `--filter=label=${label}`, '--format=json']);
    return code === 0 ? ((JSON.parse(stdout || '[]') as ListedContainer[] | null) ?? []) : [];
  }

  /** Resolves with any exit code. Rejects with `invalid_options` without podman, or with `too_many_open_files`. */
  async run(args: readonly string[], timeoutMs = COMMAND_MS): Promise<Output> {
    const [program, ...options] = this.command;
    const child = withPipes(spawn(program, [...options, ...args], { stdio: ['ignore', 'pipe', 'pipe'] }), 'podman');
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    const output: Output = { code: null, stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        output[name] += text;
        if (output[name].length > MAX_OUTPUT_BYTES) child.kill('SIGKILL');
      });
    }
    try {
      output.code = await new Promise<number | null>((resolve, reject) => {
        child.once('error', reject).once('close', resolve);
      });
      return output;
    } catch (error) {
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      throw refused(isMissing ? 'podman is not installed, or not in the PATH' : (error as Error).message);
    } finally {
      clearTimeout(timer);
    }
  }

  async #orRefuse(problem: string, args: readonly string[]): Promise<Output> {
    const output = await this.run(args);
    if (output.code === 0) return output;
    const why = output.code === null ? `it timed out after ${COMMAND_MS / 1000} s` : output.stderr.trim().slice(-1000);
    throw refused(`podman ${problem}: ${why}`);
  }
}

function cannotLimit(missing: readonly string[], rootless: boolean, version = 'v1'): string {
  const problem = `podman cannot limit containers: the cgroup controllers ${missing.join(', ')} are missing`;
  if (!rootless) return problem;
  if (version === 'v1') return `${problem}. Rootless limits need cgroups v2`;
  return `${problem} for this account. Delegate them with \`Delegate=memory pids cpu\` in user@.service`;
}

/** Images contain files of several accounts, so a single-account mapping can neither build nor pull one. */
function hasOneAccount({ idMappings }: PodmanInfo['host']): boolean {
  const accounts = idMappings?.uidmap ?? [];
  return accounts.length === 1 && accounts[0]?.size === 1;
}

function noImage(image: string, hasOneAccount: boolean): ChasquiError {
  const message = `This account has no image ${image}. Build it as described in the Containerfile, or set \`runnerImage\`.`;
  const range = '100000-165535';
  const before =
    ' First give this account subordinate ids in /etc/subuid and /etc/subgid, which unpacking an image needs: ' +
    `usermod --add-subuids ${range} --add-subgids ${range} <account>, then podman system migrate.`;
  return invalidOptions(hasOneAccount ? message + before : message);
}

function refused(problem: string): ChasquiError {
  const text = /[.:]$/.test(problem) ? problem : `${problem}.`;
  return invalidOptions(text.startsWith('`') ? text : `\`isolation\` is podman, but ${text}`);
}
