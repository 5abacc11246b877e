/** What podman is told about a runner's container: what it may see, do and take. Pure, but for looking at files. */
import fs from 'node:fs';
import { readAdapterFiles } from '../../engine/adapter-file.js';
import { findProjector } from '../../engine/find-projector.js';
import { partsOf } from '../../engine/model-files.js';
import { ChasquiError } from '../../errors.js';
import type { RunnerConfig, RunnerModelFile } from './protocol.js';

export interface ContainerLimits {
  memoryBytes: number;
  /** How many processors it may keep busy; null: all. */
  cpus: number | null;
  /** With none it sees none. Which ones a runner computes on, it decides itself. */
  gpus: number;
}

/** Programs of the image, as the Containerfile has them. */
export const IN_IMAGE = {
  folder: '/app',
  node: 'node',
  commands: 'node_modules/chasqui/dist/cli.js',
  runner: 'node_modules/chasqui/dist/cli/cloud/runner-main.js',
  fetcher: 'node_modules/chasqui/dist/cli/cloud/fetch-main.js',
};

/** Labels by which a cloud finds its containers again. */
export const CLOUD_LABEL = 'chasqui.cloud';
export const RUNNER_LABEL = 'chasqui.runner';
/** Of a cloud that lasts as long as a command: nobody will ask for the container once it has ended. */
export const BRIEF_LABEL = 'chasqui.brief';

/** Threads count, too: each of the runner's processes has some ten, and one per core to compute with. */
const MAX_PROCESSES = 2048;
const TMP_MIB = 256;
/** How /proc names what podman calls so, and more than which is never asked for: podman lowers its own limits, too. */
const OWN_LIMITS = [
  { name: 'nofile', title: 'Max open files', max: 1 << 20 },
  { name: 'nproc', title: 'Max processes', max: 1 << 15 },
];
/** An estimate of what a model takes says nothing of Node's own needs, or of how far off it is. */
const ESTIMATE_SHARE = 1.25;
const ESTIMATE_RESERVE = 2 ** 30;

/** What the script says a runner may take is the limit. What was only estimated gets room around it. */
export function limitsOf(
  { memoryBytes, gpus, options }: { memoryBytes: number | null; gpus: number | null; options: { threads?: unknown } },
  estimatedBytes: number,
): ContainerLimits {
  const { threads } = options;
  return {
    memoryBytes: memoryBytes ?? Math.ceil(estimatedBytes * ESTIMATE_SHARE) + ESTIMATE_RESERVE,
    // One more, for requests, while all threads compute: a limit stops them all for the rest of a period.
    cpus: typeof threads === 'number' && threads > 0 ? threads + 1 : null,
    gpus: gpus ?? 0,
  };
}

/**
 * The options of `podman run` that confine whatever is run, up to the image. In it the account is called root, has no
 * capabilities and cannot get any; outside it is the cloud's own, to which the mounted files belong.
 */
export function confinement({ memoryBytes, cpus, gpus }: ContainerLimits, { hasNetwork = false } = {}): string[] {
  return [
    ...['--pull=never', '--log-driver=none', '--no-healthcheck', '--sdnotify=ignore', '--http-proxy=false'],
    ...['--user=0:0', '--cap-drop=ALL', '--security-opt=no-new-privileges'],
    // Files are mounted as they are: a label of the container's own on them would be a change to them.
    '--security-opt=label=disable',
    ...['--read-only', '--read-only-tmpfs=false', `--tmpfs=/tmp:rw,nosuid,nodev,noexec,size=${TMP_MIB}m,mode=1777`],
    ...(hasNetwork ? [] : ['--network=none']),
    ...[`--memory=${memoryBytes}b`, `--memory-swap=${memoryBytes}b`, `--pids-limit=${MAX_PROCESSES}`],
    ...ownLimits(),
    ...(cpus === null ? [] : [`--cpus=${cpus}`]),
    ...(gpus === 0 ? [] : ['--device=nvidia.com/gpu=all']),
    ...['--env=HOME=/tmp', `--workdir=${IN_IMAGE.folder}`, `--entrypoint=${IN_IMAGE.node}`],
  ];
}

/** The cloud's own hard limits of open files and processes. Podman's defaults may be more than this account can give. */
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
  /** What the runner may write to: its sockets, for one. */
  folders: readonly string[];
  limits: ContainerLimits;
}

/**
 * Everything after `podman`. Files and folders have the same paths inside, so that settings and messages hold there.
 * @throws {ChasquiError} `invalid_options`: a path that podman takes for two
 */
export function runArguments(config: RunnerConfig, container: RunnerContainer): string[] {
  const { name, cloud, image, pidFile, configFile, folders, limits } = container;
  const files = filesOf(config);
  return [
    ...['run', `--name=${name}`, `--pidfile=${pidFile}`],
    ...[`--label=${CLOUD_LABEL}=${cloud}`, `--label=${RUNNER_LABEL}=${config.id}`],
    // The end of what is written to its standard input tells it of the end of its parent.
    ...(config.endsWithParent ? ['--interactive', `--label=${BRIEF_LABEL}=yes`] : []),
    // Images of messages may be at addresses.
    ...confinement(limits, { hasNetwork: [config, ...config.others].some((model) => projectorOf(model) !== null) }),
    ...folders.map((folder) => mount(folder, false)),
    ...files.filter((file) => fs.existsSync(file)).map((file) => mount(file, true)),
    ...[image, IN_IMAGE.runner, configFile],
  ];
}

/** All files that the runner reads, each once. One that is missing is the runner's to report. */
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
  // A file of a cache may be a link to another place, which the container does not see.
  const source = fs.realpathSync(path);
  for (const each of [source, path]) {
    if (!/[,"\n]/.test(each)) continue;
    throw new ChasquiError('invalid_options', `podman takes no path with a comma or a quote, such as ${each}.`);
  }
  return `--mount=type=bind,source=${source},target=${path}${isReadOnly ? ',readonly=true' : ''}`;
}
