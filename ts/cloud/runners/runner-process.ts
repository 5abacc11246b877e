/** A runner's process: started or found again, watched, stopped. It may be in a container of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { type Container, describeExit } from './container.js';
import type { ContainerLimits } from './container-arguments.js';
import { ControlLink } from './control-link.js';
import type { RunnerConfig, RunnerStatus } from './protocol.js';

/** How runners are started, which the command line knows. */
export interface RunnerCommand {
  /** The program and its arguments; the path of the configuration follows. */
  readonly command: readonly [string, ...string[]];
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** A container that is to be, and what the runner may do in it. */
export interface Isolation {
  readonly container: Container;
  readonly limits: ContainerLimits;
  /** Folders that it may write to, beside its own. */
  readonly writable: readonly string[];
}

export interface RunnerListener {
  onStatus(status: RunnerStatus): void;
  /** `how` is in words, such as `it was ended by SIGKILL`. */
  onEnd(how: string): void;
}

/** What is kept of a runner in the database: all that is needed to find it again. */
export interface RunnerRecord {
  readonly id: string;
  readonly bootId: string;
  /** Null while it is not known. */
  readonly pid: number | null;
}

export type IsolationName = 'process' | 'podman';

type UnplacedConfig = Omit<RunnerConfig, 'socketPath' | 'controlPath' | 'environment'>;
type SecretCommand = RunnerCommand & { readonly secrets: Readonly<Record<string, string>> };

/** How long a process that was found in the database and does not listen may take to begin. */
const ADOPTION_MS = 15_000;

export class RunnerProcess {
  #link: ControlLink | null = null;
  #pid: number | null;
  #exited = false;
  #ended = false;
  #how: string | null = null;
  #child: ChildProcess | null = null;

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

  /** `secrets` are variables for the runner alone. Where it cannot be started, `onEnd` is called later. */
  static start(
    folder: string,
    config: UnplacedConfig,
    command: SecretCommand,
    logFile: string,
    listener: RunnerListener,
    isolation: Isolation | null = null,
  ): RunnerProcess {
    const runner = new RunnerProcess(config.id, folder, config.bootId, null, listener, isolation?.container ?? null);
    let log: number | null = null;
    try {
      fs.mkdirSync(path.dirname(logFile), { recursive: true, mode: 0o700 });
      log = fs.openSync(logFile, 'a', 0o600);
      const child =
        isolation === null ? runner.#spawn(config, command, log) : runner.#contain(config, command, log, isolation);
      runner.#watch(child);
    } catch (error) {
      setImmediate(() => runner.#end(`it could not be started: ${(error as Error).message}`));
    } finally {
      if (log !== null) fs.closeSync(log);
    }
    return runner;
  }

  /** One of a control plane before this one. `onEnd` is called when it cannot be found. */
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
    runner.#connect(() => performance.now() < deadline && (pid === null || isProcess(pid, id)));
    return runner;
  }

  /** Where it takes requests. */
  get socketPath(): string {
    return path.join(this.folder, `${this.id}.sock`);
  }

  get isolation(): IsolationName {
    return this.container === null ? 'process' : 'podman';
  }

  get pid(): number | null {
    return this.#pid ?? this.container?.pid ?? null;
  }

  /** It lets running requests finish, then ends. */
  stop(): void {
    this.#signal('SIGTERM', false);
  }

  /** It ends at once, with the process of its engine. */
  kill(): void {
    if (this.container === null) this.#signal('SIGKILL', true);
    else if (this.container.pid !== null) this.container.kill();
    // Podman is about to make it.
    else this.#child?.kill('SIGKILL');
  }

  /** Leaves the process as it is. */
  forget(): void {
    this.#ended = true;
    this.#link?.close();
  }

  #spawn(config: UnplacedConfig, { command, environment, secrets }: SecretCommand, log: number): ChildProcess {
    const file = path.join(this.folder, `${this.id}.json`);
    writeConfig(file, { ...config, socketPath: this.socketPath, controlPath: this.#controlPath });
    const [program, ...args] = command;
    const child = spawn(program, [...args, file], {
      detached: true,
      stdio: [config.endsWithParent ? 'pipe' : 'ignore', log, log],
      env: { ...environment, ...secrets },
    });
    this.#pid = child.pid ?? null;
    return child;
  }

  /**
   * What is started is podman, which passes on what the container writes, and ends as the container does. Secrets are not
   * for its environment, where their names could mean something to podman itself.
   */
  #contain(
    config: UnplacedConfig,
    { environment, secrets }: SecretCommand,
    log: number,
    { container, limits, writable }: Isolation,
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

  #watch(child: ChildProcess): void {
    this.#child = child;
    child.on('error', (error) => this.#end(`it could not be started: ${error.message}`));
    child.on('exit', (code, signal) => {
      this.#exited = true;
      if (signal !== null) this.#how = `it was ended by ${signal}`;
      else this.#how = this.container === null ? `it ended with exit code ${code}` : describeExit(code);
      this.#end();
    });
    child.stdin?.on('error', () => {});
    child.unref();
    (child.stdin as { unref?: () => void } | null)?.unref?.();
    this.#connect(() => !this.#exited);
  }

  #connect(isAlive: () => boolean): void {
    const onStatus = (status: RunnerStatus): void => {
      // Another process has taken the place of the one that is looked for.
      if (status.bootId !== this.bootId) {
        this.#end('it was not found again');
        return;
      }
      // In a container it has a number of its own.
      this.#pid = this.container === null ? status.pid : this.container.pid;
      this.container?.exposeSockets();
      this.listener.onStatus(status);
    };
    // The exit tells more than the end of the connection, and follows it.
    const onLost = (): void => {
      setTimeout(() => this.#end(), this.#how === null ? EXIT_MS : 0);
    };
    const onNonsense = () => this.#end('it said what no runner says');
    const prepare = () => this.container?.exposeSockets();
    this.#link = new ControlLink(this.#controlPath, { prepare, onStatus, onNonsense, onLost }, isAlive);
  }

  get #controlPath(): string {
    return path.join(this.folder, `${this.id}.ctl`);
  }

  #end(how = this.#how ?? 'its process is gone'): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#link?.close();
    this.#endEngine();
    for (const extension of ['sock', 'ctl', 'json']) {
      fs.rmSync(path.join(this.folder, `${this.id}.${extension}`), { force: true });
    }
    if (this.container === null) this.listener.onEnd(how);
    else void this.container.remove().then((known) => this.listener.onEnd(known ?? how));
  }

  /** An engine whose runner is gone ends as well; this is for one that hangs. Nothing outlives a container. */
  #endEngine(): void {
    const isGone = this.#pid !== null && (this.#exited || !isProcess(this.#pid, this.id));
    if (this.container === null && isGone) killGroup(this.#pid as number, this.id);
    else if (!this.#exited) this.kill();
  }

  #signal(signal: NodeJS.Signals, group: boolean): void {
    const { pid } = this;
    if (pid === null || this.#exited || !isProcess(pid, this.id)) return;
    try {
      process.kill(group ? -pid : pid, signal);
    } catch {
      // It has ended meanwhile.
    }
  }
}

const EXIT_MS = 200;

/** Numbers of processes are used again: this one has the runner's id in its arguments. Only Linux lets us look. */
function isProcess(pid: number, id: string): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (process.platform !== 'linux') return true;
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(id);
  } catch {
    return false;
  }
}

/** Those that a runner started are in its group, which nobody else gets the number of while one of them is there. */
function killGroup(pid: number, id: string): void {
  if (process.platform === 'linux' && !groupIsOf(pid, id)) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // There are none.
  }
}

/** Whether nothing but what the runner started can be in the group: no process has its number now, or the runner. */
function groupIsOf(pid: number, id: string): boolean {
  return !fs.existsSync(`/proc/${pid}`) || isProcess(pid, id);
}

function writeConfig(file: string, config: RunnerConfig): void {
  fs.writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
}
