/**
 * The container of one runner. Its name and files identify it after a restart of the control plane.
 *
 *     <run>/<id>.sock, .ctl, .pid    for the control plane; not visible to the runner
 *     <run>/<id>.cwd/                working folder of podman and conmon
 *     <run>/<id>/                    mounted into the container: the runner's sockets and configuration
 *
 * A compromised runner could replace its socket by a link to another socket of this machine. Therefore the sockets outside
 * are hard links to the original ones, which it cannot replace.
 */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { formatMemory } from '../../hub/format-bytes.js';
import { describeExit } from '../../process/fork-script.js';
import { countMachineKills } from '../../process/out-of-memory.js';
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
/** Podman's own exit codes for a failed start. */
const NOT_STARTED = [125, 126, 127];
/** Added to the signal number in exit codes. */
const SIGNALLED = 128;
/** Podman's states of an ended container: before and after its clean-up. */
const ENDED = ['stopped', 'exited'];

export class Container {
  /** The container's own writable folder. */
  readonly folder: string;
  readonly #killsBefore = countMachineKills();

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

  /**
   * Working folder of podman, outside the container. conmon creates the file `oom` here if the container runs out of
   * memory.
   */
  get workingFolder(): string {
    return `${this.folder}.cwd`;
  }

  get configFile(): string {
    return path.join(this.folder, `${this.id}.json`);
  }

  get sockets(): Pick<RunnerConfig, 'socketPath' | 'controlPath'> {
    return { socketPath: path.join(this.folder, 'sock'), controlPath: path.join(this.folder, 'ctl') };
  }

  /** The command that runs the container in the foreground. `writable`: additional writable folders. */
  command(config: RunnerConfig, limits: ContainerLimits, writable: readonly string[]): [string, ...string[]] {
    const container: RunnerContainer = {
      name: this.name,
      cloud: cloudOf(this.runFolder),
      image: this.podman.image,
      pidFile: this.#pidFile,
      configFile: this.configFile,
      folders: [this.folder, ...writable],
      limits,
    };
    const [program, ...options] = this.podman.command;
    return [program, ...options, ...runArguments(config, container)];
  }

  /** Process id on this machine, or null before the start. The runner's own claim is not trusted. */
  get pid(): number | null {
    try {
      return Number(fs.readFileSync(this.#pidFile, 'utf8')) || null;
    } catch {
      return null;
    }
  }

  /** Links the existing sockets to their paths outside. */
  exposeSockets(): void {
    const { socketPath, controlPath } = this.sockets;
    this.#expose(socketPath, `${this.folder}.sock`);
    this.#expose(controlPath, `${this.folder}.ctl`);
  }

  kill(): void {
    void this.podman.run(['kill', this.name]).catch(() => {});
  }

  /**
   * Stops and removes the container. Resolves with a description of its end, or null if podman does not know it. Never
   * rejects.
   */
  async remove(): Promise<string | null> {
    const how = await this.#describeEnd().catch(() => null);
    await removeContainer(this.podman, this.name);
    for (const file of [this.folder, this.workingFolder, this.#pidFile]) {
      // Leftovers are harmless, because ids are not reused.
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
    const limited = `its limit is ${formatMemory(Number(limit))}`;
    const isKilled = Number(exit) === SIGNALLED + os.constants.signals.SIGKILL;
    if (isKilled && ranOut === 'true') return `it ran out of memory: ${limited}`;
    const described = describeContainerExit(Number(exit));
    // With cgroups v1 podman may miss an OOM kill. The count of the machine includes other programs.
    const mayHaveRunOut = isKilled && countMachineKills() !== this.#killsBefore;
    return mayHaveRunOut ? `${described}, perhaps because memory ran out: ${limited}` : described;
  }

  #expose(inside: string, outside: string): void {
    if (fs.existsSync(outside)) return;
    try {
      fs.linkSync(inside, outside);
    } catch {
      // The socket does not exist yet.
      return;
    }
    if (!fs.lstatSync(outside).isSocket()) fs.rmSync(outside, { force: true });
  }
}

/** Describes the end of a container by podman's exit code. */
export function describeContainerExit(code: number | null): string {
  if (code !== null && NOT_STARTED.includes(code)) return 'podman could not start its container';
  const signals = Object.entries(os.constants.signals) as [NodeJS.Signals, number][];
  const [signal = null] = signals.find(([, number]) => number + SIGNALLED === code) ?? [];
  return describeExit(code, signal);
}

/** Removes containers that earlier control planes of this folder, or ended commands, left behind. */
export async function removeOrphanedContainers(
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

/** On failure, the next start of a cloud retries. */
async function removeContainer(podman: Podman, container: string): Promise<void> {
  await podman.run(['rm', '--force', '--ignore', '--time=0', container]).catch(() => {});
}

/** Identifies a cloud by its folder without revealing the path. */
function cloudOf(runFolder: string): string {
  return createHash('sha256').update(path.resolve(runFolder)).digest('hex').slice(0, 16);
}
