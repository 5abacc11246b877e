/** Arguments of `podman run` for a runner's container. Pure, except for looking at files. */
import fs from 'node:fs';
import { readAdapterFiles } from '../../engine/adapter-file.js';
import { findProjector } from '../../engine/find-projector.js';
import { partsOf } from '../../engine/model-files.js';
import { invalidOptions } from '../../errors.js';
import type { RunnerConfig, RunnerModelFile } from './protocol.js';

export interface ContainerLimits {
  memoryBytes: number;
  /** CPU limit; null: none. */
  cpus: number | null;
  /** Names of the GPUs in the container. */
  gpus: readonly string[];
}

/** Paths in the image, as in the Containerfile. */
export const IN_IMAGE = {
  folder: '/app',
  node: 'node',
  commands: 'node_modules/chasqui/dist/cli.js',
  runner: 'node_modules/chasqui/dist/cli/cloud/runner-main.js',
  fetcher: 'node_modules/chasqui/dist/cli/cloud/fetch-main.js',
};

/** Labels that identify a cloud's containers. */
export const CLOUD_LABEL = 'chasqui.cloud';
export const RUNNER_LABEL = 'chasqui.runner';
/** Marks containers of a cloud that lasts as long as one command. */
export const BRIEF_LABEL = 'chasqui.brief';

/** Includes threads: each process of a runner has about ten, plus one per core for computing. */
const MAX_PROCESSES = 2048;
const TMP_MIB = 256;
/** Podman's names of limits and those in /proc. Requests above `max` fail, because podman lowers its own limits. */
const OWN_LIMITS = [
  { name: 'nofile', title: 'Max open files', max: 1 << 20 },
  { name: 'nproc', title: 'Max processes', max: 1 << 15 },
];
/** Headroom for Node and for the error of the estimate. */
const ESTIMATE_SHARE = 1.25;
const ESTIMATE_RESERVE = 2 ** 30;

/** The memory of the script is the limit. An estimate gets headroom. */
export function limitsOf(
  { memoryBytes, options }: { memoryBytes: number | null; options: { threads?: unknown } },
  estimatedBytes: number,
  gpus: readonly string[] = [],
): ContainerLimits {
  const { threads } = options;
  return {
    memoryBytes: memoryBytes ?? Math.ceil(estimatedBytes * ESTIMATE_SHARE) + ESTIMATE_RESERVE,
    // One extra CPU for requests: at the limit, all threads stop for the rest of a period.
    cpus: typeof threads === 'number' && threads > 0 ? threads + 1 : null,
    gpus,
  };
}

/**
 * Options of `podman run` that isolate the container, up to the image. Inside, the account is root without
 * capabilities; outside, it is the account of the cloud, which owns the mounted files.
 */
export function confinement({ memoryBytes, cpus, gpus }: ContainerLimits, { hasNetwork = false } = {}): string[] {
  return [
    ...['--pull=never', '--log-driver=none', '--no-healthcheck', '--sdnotify=ignore', '--http-proxy=false'],
    ...['--user=0:0', '--cap-drop=ALL', '--security-opt=no-new-privileges'],
    // Relabeling would change the mounted files.
    '--security-opt=label=disable',
    ...['--read-only', '--read-only-tmpfs=false', `--tmpfs=/tmp:rw,nosuid,nodev,noexec,size=${TMP_MIB}m,mode=1777`],
    ...(hasNetwork ? [] : ['--network=none']),
    ...[`--memory=${memoryBytes}b`, `--memory-swap=${memoryBytes}b`, `--pids-limit=${MAX_PROCESSES}`],
    ...ownLimits(),
    ...(cpus === null ? [] : [`--cpus=${cpus}`]),
    ...gpus.map((id) => `--device=nvidia.com/gpu=${id}`),
    ...['--env=HOME=/tmp', `--workdir=${IN_IMAGE.folder}`, `--entrypoint=${IN_IMAGE.node}`],
  ];
}

/** This process's hard limits of open files and processes. Podman's defaults may exceed them. */
function ownLimits(): string[] {
  let text: string;
  try {
    text = fs.readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return [];
  }
  return OWN_LIMITS.map(({ name, title, max }) => {
    const [, hard = max] = new RegExp(`^${title}\\s+\\S+\\s+(\\d+)`, 'm').exec(text) ?? [];
    const limit = Math.min(Number(hard), max);
    return `--ulimit=${name}=${limit}:${limit}`;
  });
}

export interface RunnerContainer {
  name: string;
  cloud: string;
  image: string;
  pidFile: string;
  configFile: string;
  folders: readonly string[];
  limits: ContainerLimits;
}

/**
 * Arguments after `podman`. Files and folders keep their paths inside, so that settings and messages are valid there.
 *
 * @throws {ChasquiError} `invalid_options`: a path that podman would split
 */
export function runArguments(config: RunnerConfig, container: RunnerContainer): string[] {
  const { name, cloud, image, pidFile, configFile, folders, limits } = container;
  const files = filesOf(config);
  return [
    ...['run', `--name=${name}`, `--pidfile=${pidFile}`],
    ...[`--label=${CLOUD_LABEL}=${cloud}`, `--label=${RUNNER_LABEL}=${config.id}`],
    // The end of standard input tells the runner that its parent has ended.
    ...(config.endsWithParent ? ['--interactive', `--label=${BRIEF_LABEL}=yes`] : []),
    // Images in messages may be URLs.
    ...confinement(limits, { hasNetwork: [config, ...config.others].some((model) => projectorOf(model) !== null) }),
    ...folders.map((folder) => mount(folder, false)),
    ...files.filter((file) => fs.existsSync(file)).map((file) => mount(file, true)),
    ...[image, IN_IMAGE.runner, configFile],
  ];
}

/** Files that the runner reads, without duplicates. The runner reports missing ones. */
export function filesOf({ others, ...first }: Pick<RunnerConfig, 'modelPath' | 'options' | 'others'>): string[] {
  return [...new Set([first, ...others].flatMap(filesOfModel))];
}

function filesOfModel(model: RunnerModelFile): string[] {
  const { modelPath, options } = model;
  const projector = projectorOf(model);
  return [
    ...partsOf(modelPath),
    ...(projector === null ? [] : [projector]),
    ...(options.draftModel === undefined ? [] : partsOf(options.draftModel)),
    ...(options.chatTemplateFile == null ? [] : [options.chatTemplateFile]),
    ...readAdapterFiles(options.lora).map(({ path }) => path),
  ];
}

function projectorOf({ modelPath, options }: RunnerModelFile): string | null {
  return options.mmproj === undefined ? findProjector(modelPath) : options.mmproj;
}

function mount(path: string, isReadOnly: boolean): string {
  // Cached files may be links to places that the container does not see.
  const source = fs.realpathSync(path);
  for (const each of [source, path]) {
    if (!/[,"\n]/.test(each)) continue;
    throw invalidOptions(`Podman cannot mount a path with a comma or a quote: ${each}.`);
  }
  return `--mount=type=bind,source=${source},target=${path}${isReadOnly ? ',readonly=true' : ''}`;
}
