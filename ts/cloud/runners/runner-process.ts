/** A runner's process: started or found again, watched, stopped. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { ControlLink } from './control-link.js';
import type { RunnerConfig, RunnerStatus } from './protocol.js';

/** How runners are started, which the command line knows. */
export interface RunnerCommand {
  /** The program and its arguments; the path of the configuration follows. */
  readonly command: readonly [string, ...string[]];
  readonly environment: Readonly<Record<string, string | undefined>>;
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

/** How long a process that was found in the database and does not listen may take to begin. */
const ADOPTION_MS = 15_000;

export class RunnerProcess {
  #link: ControlLink | null = null;
  #pid: number | null;
  #exited = false;
  #ended = false;
  #how: string | null = null;

  private constructor(
    readonly id: string,
    readonly socketPath: string,
    private readonly folder: string,
    private readonly bootId: string,
    pid: number | null,
    private readonly listener: RunnerListener,
  ) {
    this.#pid = pid;
  }

  static newBootId(): string {
    return randomUUID();
  }

  /** `onPid` is called before anything else can happen. */
  static start(
    folder: string,
    config: Omit<RunnerConfig, 'socketPath' | 'controlPath'>,
    { command, environment }: RunnerCommand,
    logFile: string,
    listener: RunnerListener,
  ): RunnerProcess {
    const runner = new RunnerProcess(config.id, socketOf(folder, config.id), folder, config.bootId, null, listener);
    const file = configOf(folder, config.id);
    const whole: RunnerConfig = {
      ...config,
      socketPath: runner.socketPath,
      controlPath: controlOf(folder, config.id),
    };
    fs.writeFileSync(file, JSON.stringify(whole), { mode: 0o600 });
    fs.mkdirSync(path.dirname(logFile), { recursive: true, mode: 0o700 });
    const log = fs.openSync(logFile, 'a', 0o600);
    const [program, ...args] = command;
    const child = spawn(program, [...args, file], {
      detached: true,
      stdio: [config.endsWithParent ? 'pipe' : 'ignore', log, log],
      env: { ...environment },
    });
    fs.closeSync(log);
    runner.#pid = child.pid ?? null;
    child.on('error', (error) => runner.#end(`it could not be started: ${error.message}`));
    child.on('exit', (code, signal) => {
      runner.#exited = true;
      runner.#how = signal === null ? `it ended with exit code ${code}` : `it was ended by ${signal}`;
      runner.#end();
    });
    child.stdin?.on('error', () => {});
    child.unref();
    (child.stdin as { unref?: () => void } | null)?.unref?.();
    runner.#connect(() => !runner.#exited);
    return runner;
  }

  /** One of a control plane before this one. `onEnd` is called when it cannot be found. */
  static adopt(folder: string, record: RunnerRecord, listener: RunnerListener): RunnerProcess {
    const { id, bootId, pid } = record;
    const runner = new RunnerProcess(id, socketOf(folder, id), folder, bootId, pid, listener);
    const deadline = performance.now() + ADOPTION_MS;
    runner.#connect(() => performance.now() < deadline && (pid === null || isProcess(pid, id)));
    return runner;
  }

  get pid(): number | null {
    return this.#pid;
  }

  /** It lets running requests finish, then ends. */
  stop(): void {
    this.#signal('SIGTERM', false);
  }

  /** It ends at once, with the process of its engine. */
  kill(): void {
    this.#signal('SIGKILL', true);
  }

  /** Leaves the process as it is. */
  forget(): void {
    this.#ended = true;
    this.#link?.close();
  }

  #connect(isAlive: () => boolean): void {
    const onStatus = (status: RunnerStatus): void => {
      // Another process has taken the place of the one that is looked for.
      if (status.bootId === this.bootId) {
        this.#pid = status.pid;
        this.listener.onStatus(status);
      } else this.#end('it was not found again');
    };
    // The exit tells more than the end of the connection, and follows it.
    const onLost = (): void => {
      setTimeout(() => this.#end(), this.#how === null ? EXIT_MS : 0);
    };
    this.#link = new ControlLink(controlOf(this.folder, this.id), { onStatus, onLost }, isAlive);
  }

  #end(how = this.#how ?? 'its process is gone'): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#link?.close();
    // An engine whose runner is gone ends as well; this is for one that hangs.
    if (this.#pid !== null && (this.#exited || !isProcess(this.#pid, this.id))) killGroup(this.#pid, this.id);
    else this.kill();
    for (const file of [this.socketPath, controlOf(this.folder, this.id), configOf(this.folder, this.id)]) {
      fs.rmSync(file, { force: true });
    }
    this.listener.onEnd(how);
  }

  #signal(signal: NodeJS.Signals, group: boolean): void {
    const pid = this.#pid;
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

function socketOf(folder: string, id: string): string {
  return path.join(folder, `${id}.sock`);
}

function controlOf(folder: string, id: string): string {
  return path.join(folder, `${id}.ctl`);
}

function configOf(folder: string, id: string): string {
  return path.join(folder, `${id}.json`);
}
