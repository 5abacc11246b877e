/** Starts, adopts, watches and stops a runner's process, optionally in a container. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describeExit } from '../../process/fork-script.js';
import { readOrEmpty, runnerCgroup } from './cgroups.js';
import { type Container, describeContainerExit } from './container.js';
import type { ContainerLimits } from './container-arguments.js';
import { ControlLink } from './control-link.js';
import { CpuShare } from './cpu-share.js';
import { MemoryLimit } from './memory-limit.js';
import type { RunnerConfig, RunnerStatus } from './protocol.js';
import { runnerEnvironment } from './runner-environment.js';

export interface RunnerCommand {
  /** Program and arguments. The path of the configuration file is appended. */
  readonly command: readonly [string, ...string[]];
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export interface Isolation {
  readonly organisation: string;
  /** Null: a process of this account. */
  readonly container: Container | null;
  readonly limits: ContainerLimits;
  readonly writable: readonly string[];
}

export interface RunnerListener {
  onStatus(status: RunnerStatus): void;
  /** `how`: for example `it was ended by SIGKILL`. `hasRunOut`: it exceeded its memory limit. */
  onEnd(how: string, hasRunOut: boolean): void;
}

/** Stored data for finding a runner again. */
export interface RunnerRecord {
  readonly id: string;
  readonly organisation: string;
  readonly bootId: string;
  readonly pid: number | null;
  readonly memoryBytes: number;
}

export type IsolationName = 'process' | 'podman';

type UnplacedConfig = Omit<RunnerConfig, 'socketPath' | 'controlPath' | 'environment'>;
type SecretCommand = RunnerCommand & { readonly secrets: Readonly<Record<string, string>> };

/** Time for a stored runner to listen on its control socket. */
const ADOPTION_MS = 15_000;

export class RunnerProcess {
  #link: ControlLink | null = null;
  #pid: number | null;
  #startTime: string | null = null;
  #exited = false;
  #ended = false;
  #how: string | null = null;
  #child: ChildProcess | null = null;
  #limit: MemoryLimit | null = null;
  #cpus: CpuShare | null = null;
  #exceeded: string | null = null;

  private constructor(
    readonly id: string,
    private readonly folder: string,
    private readonly bootId: string,
    pid: number | null,
    private readonly listener: RunnerListener,
    private readonly container: Container | null,
  ) {
    this.#pid = pid;
  }

  static newBootId(): string {
    return randomUUID();
  }

  /** `secrets`: environment variables for the runner only. A failed start calls `onEnd` later. */
  static start(
    folder: string,
    config: UnplacedConfig,
    command: SecretCommand,
    logFile: string,
    listener: RunnerListener,
    isolation: Isolation,
  ): RunnerProcess {
    const { container, limits, organisation } = isolation;
    const runner = new RunnerProcess(config.id, folder, config.bootId, null, listener, container);
    let log: number | null = null;
    try {
      fs.mkdirSync(path.dirname(logFile), { recursive: true, mode: 0o700 });
      log = fs.openSync(logFile, 'a', 0o600);
      const child =
        container === null
          ? runner.#spawn(config, command, log)
          : runner.#contain(config, command, log, { ...isolation, container });
      runner.#watch(child);
      runner.#limitResources(organisation, limits.memoryBytes);
    } catch (error) {
      setImmediate(() => runner.#end(`it failed to start: ${(error as Error).message}`));
    } finally {
      if (log !== null) fs.closeSync(log);
    }
    return runner;
  }

  /** Finds a runner of an earlier control plane. Calls `onEnd` if that fails. */
  static adopt(
    folder: string,
    record: RunnerRecord,
    listener: RunnerListener,
    container: Container | null = null,
  ): RunnerProcess {
    const { id, bootId } = record;
    const pid = container?.pid ?? record.pid;
    const runner = new RunnerProcess(id, folder, bootId, pid, listener, container);
    const deadline = performance.now() + ADOPTION_MS;
    runner.#limitResources(record.organisation, record.memoryBytes);
    runner.#connect(() => performance.now() < deadline && (pid === null || isProcess(pid, runner.#configFile)));
    return runner;
  }

  get socketPath(): string {
    return path.join(this.folder, `${this.id}.sock`);
  }

  get isolation(): IsolationName {
    return this.container === null ? 'process' : 'podman';
  }

  get pid(): number | null {
    return this.#pid ?? this.container?.pid ?? null;
  }

  /** Whether clients wait for replies of the organisation, which then gets a larger share of the CPUs. */
  setHasClients(hasClients: boolean): void {
    this.#cpus?.setHasClients(hasClients);
  }

  /** Finishes running requests, then exits. */
  stop(): void {
    this.#signal('SIGTERM', false);
  }

  kill(): void {
    if (this.container === null) this.#signal('SIGKILL', true);
    else if (this.container.pid !== null) this.container.kill();
    // Podman is still creating the container.
    else this.#child?.kill('SIGKILL');
  }

  /** Stops watching the process. */
  release(): void {
    this.#ended = true;
    this.#limit?.close();
    this.#cpus?.close();
    this.#link?.close();
  }

  #spawn(config: UnplacedConfig, { command, environment, secrets }: SecretCommand, log: number): ChildProcess {
    const file = this.#configFile;
    writeConfig(file, { ...config, socketPath: this.socketPath, controlPath: this.#controlPath });
    const [program, ...args] = command;
    const child = spawn(program, [...args, file], {
      detached: true,
      stdio: [config.endsWithParent ? 'pipe' : 'ignore', log, log],
      env: { ...runnerEnvironment(environment), ...secrets },
    });
    this.#pid = child.pid ?? null;
    return child;
  }

  /**
   * Starts podman in the foreground: it forwards the output and exits with the container. Secrets stay out of its
   * environment, where their names could affect podman itself.
   */
  #contain(
    config: UnplacedConfig,
    { environment, secrets }: SecretCommand,
    log: number,
    { container, limits, writable }: Isolation & { container: Container },
  ): ChildProcess {
    const whole: RunnerConfig = { ...config, ...container.sockets, environment: secrets };
    const { folder: own, workingFolder: cwd } = container;
    for (const folder of [own, cwd, ...writable]) fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeConfig(container.configFile, whole);
    const [program, ...args] = container.command(whole, limits, writable);
    return spawn(program, args, {
      cwd,
      detached: true,
      stdio: [config.endsWithParent ? 'pipe' : 'ignore', log, log],
      env: { ...environment },
    });
  }

  /** Podman limits containers. */
  #limitResources(organisation: string, bytes: number): void {
    if (this.container !== null || process.platform !== 'linux') return;
    const pid = () => this.#runningPid();
    const cgroup = runnerCgroup(organisation, this.id);
    const started = pid();
    if (started !== null) this.#cpus = new CpuShare(cgroup, started);
    this.#limit = new MemoryLimit(cgroup, pid, bytes, (reason) => {
      this.#exceeded = reason;
      this.kill();
    });
  }

  /**
   * For checks several times per second. They compare the start time: reading `cmdline` waits for the lock of the process's
   * memory, which a growing process holds for up to 60 ms.
   */
  #runningPid(): number | null {
    const pid = this.#pid;
    if (pid === null) return null;
    if (this.#startTime === null && isProcess(pid, this.#configFile)) this.#startTime = startTimeOf(pid);
    return this.#startTime !== null && startTimeOf(pid) === this.#startTime ? pid : null;
  }

  #watch(child: ChildProcess): void {
    this.#child = child;
    child.on('error', (error) => this.#end(`it failed to start: ${error.message}`));
    child.on('exit', (code, signal) => {
      this.#exited = true;
      const isOwnExit = this.container === null || signal !== null;
      this.#how = isOwnExit ? describeExit(code, signal) : describeContainerExit(code);
      this.#end();
    });
    child.stdin?.on('error', () => {});
    child.unref();
    (child.stdin as { unref?: () => void } | null)?.unref?.();
    this.#connect(() => !this.#exited);
  }

  #connect(isAlive: () => boolean): void {
    const onStatus = (status: RunnerStatus): void => {
      // Another process uses the socket.
      if (status.bootId !== this.bootId) {
        this.#end('it was not found after a restart of the control plane');
        return;
      }
      // The pid inside a container differs.
      this.#pid = this.container === null ? status.pid : this.container.pid;
      this.container?.exposeSockets();
      this.listener.onStatus(status);
    };
    // Wait for the exit event, which has more information.
    const onLost = (): void => {
      setTimeout(() => this.#end(), this.#how === null ? EXIT_EVENT_MS : 0);
    };
    const onInvalid = () => this.#end('it sent an invalid status');
    const prepare = () => this.container?.exposeSockets();
    this.#link = new ControlLink(this.#controlPath, { prepare, onStatus, onInvalid, onLost }, isAlive);
  }

  /** Argument of the runner's process. */
  get #configFile(): string {
    return this.container?.configFile ?? path.join(this.folder, `${this.id}.json`);
  }

  get #controlPath(): string {
    return path.join(this.folder, `${this.id}.ctl`);
  }

  #end(cause?: string): void {
    if (this.#ended) return;
    this.#ended = true;
    const exceeded = cause === undefined ? (this.#exceeded ?? this.#limit?.killReason() ?? null) : null;
    const how = cause ?? exceeded ?? this.#how ?? 'its process does not exist';
    this.#limit?.close();
    this.#cpus?.close();
    this.#link?.close();
    this.#endEngine();
    for (const extension of ['sock', 'ctl', 'json']) {
      fs.rmSync(path.join(this.folder, `${this.id}.${extension}`), { force: true });
    }
    if (this.container === null) this.listener.onEnd(how, exceeded !== null);
    else void this.container.remove().then((known) => this.listener.onEnd(known ?? how, false));
  }

  /** Kills a hanging engine; others exit with their runner. Nothing outlives a container. */
  #endEngine(): void {
    const isGone = this.#pid !== null && (this.#exited || !isProcess(this.#pid, this.#configFile));
    if (this.container === null && isGone) killGroup(this.#pid as number, this.#configFile);
    else if (!this.#exited) this.kill();
  }

  #signal(signal: NodeJS.Signals, group: boolean): void {
    const { pid } = this;
    if (pid === null || this.#exited || !isProcess(pid, this.#configFile)) return;
    try {
      process.kill(group ? -pid : pid, signal);
    } catch {
      // The process has exited.
    }
  }
}

const EXIT_EVENT_MS = 200;

/**
 * Pids are reused, so check for the runner's file in the arguments. Only Linux allows that. A copy of the data folder has the
 * same ids, but other paths.
 */
function isProcess(pid: number, configFile: string): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (process.platform !== 'linux') return true;
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(configFile);
  } catch {
    return false;
  }
}

/** Ticks since the boot. */
function startTimeOf(pid: number): string | null {
  const stat = readOrEmpty(`/proc/${pid}/stat`);
  // The fields follow the program's name, which is in parentheses and may contain anything.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
}

/** Kills the process group of the runner. Its id is not reused while a member exists. */
function killGroup(pid: number, configFile: string): void {
  // Another process has the pid, so the group may have processes that are not of the runner.
  if (process.platform === 'linux' && fs.existsSync(`/proc/${pid}`) && !isProcess(pid, configFile)) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group is empty.
  }
}

function writeConfig(file: string, config: RunnerConfig): void {
  fs.writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
}
