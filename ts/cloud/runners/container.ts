/**
 * The container of one runner, which podman keeps: found again by its name and its files, ended, removed.
 *
 *     <run>/<id>.sock, .ctl, .pid    what the control plane uses; the runner sees none of it
 *     <run>/<id>.cwd/                where podman and what watches the container work: they leave files there
 *     <run>/<id>/                    mounted into the container: the runner's sockets and its configuration
 *
 * A runner that somebody has taken over could put a link to another socket of this machine in the place of its own. The
 * sockets outside are hard links to those that it made, which it cannot exchange any more.
 */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { countOutOfMemoryKills } from '../../process/out-of-memory.js';
import {
  BRIEF_LABEL,
  CLOUD_LABEL,
  type ContainerLimits,
  RUNNER_LABEL,
  type RunnerContainer,
  runArguments,
} from './container-arguments.js';
import type { Podman } from './podman.js';
import type { RunnerConfig } from './protocol.js';

const END_MS = 10_000;
/** Of podman itself, which had nothing to start or could not start it. */
const NOT_STARTED = [125, 126, 127];
/** Exit codes of what a signal has ended are this, and the signal's number. */
const SIGNALLED = 128;
/** What podman says of a container that has ended: the one until it has cleaned up behind it, the other from then on. */
const ENDED = ['stopped', 'exited'];

export class Container {
  /** The only folder of its own that it may write to. */
  readonly folder: string;
  readonly #killsBefore = countOutOfMemoryKills();

  constructor(
    private readonly podman: Podman,
    private readonly runFolder: string,
    readonly id: string,
  ) {
    this.folder = path.join(runFolder, id);
  }

  get name(): string {
    return `chasqui-${this.id}`;
  }

  /** Of podman, outside the container: where it is killed for want of memory, conmon leaves a file `oom` where it works. */
  get workingFolder(): string {
    return `${this.folder}.cwd`;
  }

  get configFile(): string {
    return path.join(this.folder, `${this.id}.json`);
  }

  /** As the runner sees them. */
  get sockets(): Pick<RunnerConfig, 'socketPath' | 'controlPath'> {
    return { socketPath: path.join(this.folder, 'sock'), controlPath: path.join(this.folder, 'ctl') };
  }

  /** The program that runs it, to its end; `writable` are folders beside its own. */
  command(config: RunnerConfig, limits: ContainerLimits, writable: readonly string[]): [string, ...string[]] {
    const container: RunnerContainer = {
      ...{ name: this.name, cloud: cloudOf(this.runFolder), image: this.podman.image, limits },
      ...{ pidFile: this.#pidFile, configFile: this.configFile, folders: [this.folder, ...writable] },
    };
    const [program, ...options] = this.podman.command;
    return [program, ...options, ...runArguments(config, container)];
  }

  /** Of the runner, as this machine counts; null: not yet. What the runner says of it is not believed. */
  get pid(): number | null {
    try {
      return Number(fs.readFileSync(this.#pidFile, 'utf8')) || null;
    } catch {
      return null;
    }
  }

  /** Makes those of the sockets that are there reachable outside. */
  exposeSockets(): void {
    const { socketPath, controlPath } = this.sockets;
    this.#expose(socketPath, `${this.folder}.sock`);
    this.#expose(controlPath, `${this.folder}.ctl`);
  }

  kill(): void {
    void this.podman.run(['kill', this.name]).catch(() => {});
  }

  /** Ends it, if need be, and removes it. Resolves with how it ended; null where podman does not know. Never rejects. */
  async remove(): Promise<string | null> {
    const how = await this.#describeEnd().catch(() => null);
    await removeContainer(this.podman, this.name);
    for (const file of [this.folder, this.workingFolder, this.#pidFile]) {
      // What cannot be removed now, because no folder can be opened, say, is in nobody's way: ids are not used again.
      await fs.promises.rm(file, { recursive: true, force: true }).catch(() => undefined);
    }
    return how;
  }

  get #pidFile(): string {
    return `${this.folder}.pid`;
  }

  async #describeEnd(): Promise<string | null> {
    await this.podman.run(['wait', this.name], END_MS);
    const format = '{{.State.Status}} {{.State.ExitCode}} {{.State.OOMKilled}} {{.HostConfig.Memory}}';
    const { code, stdout } = await this.podman.run(['container', 'inspect', `--format=${format}`, this.name]);
    const [status, exit, ranOut, limit] = stdout.trim().split(' ');
    if (code !== 0 || !ENDED.includes(status ?? '')) return null;
    // With the first version of cgroups podman may miss it; the count is of the whole machine.
    const isKilled = Number(exit) === SIGNALLED + os.constants.signals.SIGKILL;
    if (isKilled && (ranOut === 'true' || countOutOfMemoryKills() !== this.#killsBefore)) {
      return `it was ended for want of memory: it may take ${mib(Number(limit))}`;
    }
    return describeExit(Number(exit));
  }

  #expose(inside: string, outside: string): void {
    if (fs.existsSync(outside)) return;
    try {
      fs.linkSync(inside, outside);
    } catch {
      // It is not there yet.
      return;
    }
    if (!fs.lstatSync(outside).isSocket()) fs.rmSync(outside, { force: true });
  }
}

/** How a program ended that podman was to run, by podman's own exit code. */
export function describeExit(code: number | null): string {
  if (code !== null && NOT_STARTED.includes(code)) return 'podman could not start its container';
  const [signal] = Object.entries(os.constants.signals).find(([, number]) => number + SIGNALLED === code) ?? [];
  return signal === undefined ? `it ended with exit code ${code}` : `it was ended by ${signal}`;
}

/** What is left of control planes before this one, of this folder or of commands that are over, and nobody knows. */
export async function removeLeftContainers(
  podman: Podman,
  runFolder: string,
  known: ReadonlySet<string>,
): Promise<void> {
  const own = cloudOf(runFolder);
  for (const { Id: id, State: state, Labels: labels } of await podman.list(CLOUD_LABEL)) {
    const isOwn = labels?.[CLOUD_LABEL] === own && !known.has(labels[RUNNER_LABEL] ?? '');
    const isOver = labels?.[BRIEF_LABEL] !== undefined && ENDED.includes(state);
    if (isOwn || isOver) await removeContainer(podman, id);
  }
}

/** One that cannot be removed now is removed at the next start of a cloud. */
async function removeContainer(podman: Podman, container: string): Promise<void> {
  await podman.run(['rm', '--force', '--ignore', '--time=0', container]).catch(() => {});
}

/** Names a cloud by its folder, and tells nobody where that is. */
function cloudOf(runFolder: string): string {
  return createHash('sha256').update(path.resolve(runFolder)).digest('hex').slice(0, 16);
}

function mib(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`;
}
