/** Downloads a model from the hub for a command, with progress. */
import { ChasquiError, type ErrorCode, invalidOptions } from '../../errors.js';
import type { DownloadJob, StartOptions } from '../../hub/downloads.js';
import { machineWithoutGpus, quickFit } from '../../hub/fit.js';
import { formatBytes } from '../../hub/format-bytes.js';
import { chooseQuantisation, modelNameOf, parseModelName } from '../../hub/model-name.js';
import { ownCall } from '../../own-call.js';
import { CommandFailed, EXIT } from '../errors/exit-codes.js';
import { inTime } from '../output/quantities.js';
import { shorten, widthOf } from '../output/table.js';
import type { HubContext } from './hub-context.js';

const BAR_LENGTH = 14;
const MAX_WIDTH = 80;
/** Without a terminal, one progress line per 10 %. */
const QUIET_STEP = 0.1;

/**
 * Resolves with the completed download.
 * @throws {ChasquiError} with the reason if the download fails
 */
export async function fetchHubModel(
  hub: HubContext,
  name: string,
  terminal: NodeJS.WriteStream,
  options: Pick<StartOptions, 'anyArchitecture'> = {},
): Promise<DownloadJob> {
  // Lazy import: this module loads SQLite for its locks.
  const { downloadModel } = await import('../../hub/download-model.js');
  const shown = new DownloadProgress(terminal);
  const stop = new AbortController();
  const onSignal = () =>
    stop.abort(new CommandFailed(EXIT.interrupted, 'The download was stopped. Run the same command again to resume.'));
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.once(signal, onSignal);
  try {
    const onChange = (job: DownloadJob) => shown.show(job);
    const job = await downloadModel(hub, name, { ...options, signal: stop.signal, onChange });
    if (job.state === 'completed') return job;
    const { code, message } = job.error ?? { code: 'download_failed', message: 'The download was stopped.' };
    throw new ChasquiError(code as ErrorCode, `${message} Run the same command again to resume.`);
  } finally {
    shown.end();
    for (const signal of signals) process.off(signal, onSignal);
  }
}

/**
 * Counts all main memory, because other programs can end, but no GPUs, which only their drivers know.
 * @throws {ChasquiError} `invalid_options`: the model does not fit into memory; or errors of the hub
 */
export async function refuseTooLarge({ client }: HubContext, name: string): Promise<void> {
  const { repo, tag } = parseModelName(name);
  const model = await client.model(repo);
  const chosen = chooseQuantisation(model.quantisations, tag);
  const machine = machineWithoutGpus();
  const { badge, needBytes } = quickFit({ ...model, ...chosen }, { ...machine, freeBytes: machine.totalBytes });
  if (badge !== 'too-large') return;
  const chosenName = modelNameOf(repo, chosen);
  throw invalidOptions(
    `${chosenName} needs ${formatBytes(needBytes)} of memory, and this computer has ${formatBytes(machine.totalBytes)}. ` +
      `${ownCall()} get --force ${chosenName} downloads it anyway; ${ownCall()} get --list ${repo} lists all sizes.`,
  );
}

/** One rewritten line on a terminal, otherwise separate lines. */
export class DownloadProgress {
  #shown = '';
  #state = '';
  #nextStep = 0;
  #trouble = '';

  constructor(private readonly terminal: NodeJS.WriteStream) {}

  show(job: DownloadJob): void {
    this.#tellTrouble(job);
    if (this.terminal.isTTY) this.#draw(progressLine(job, widthOf(this.terminal)));
    else this.#write(job);
  }

  end(): void {
    if (this.#shown) this.#draw('');
  }

  #draw(line: string): void {
    this.terminal.write(`\r${line.padEnd(this.#shown.length)}${line === '' ? '\r' : ''}`);
    this.#shown = line;
  }

  /** Prints each retried error once, on a line of its own. */
  #tellTrouble({ state, error }: DownloadJob): void {
    if (state !== 'downloading' || error === null || error.message === this.#trouble) return;
    this.#trouble = error.message;
    this.end();
    this.terminal.write(`chasqui: ${error.message} Retrying.\n`);
  }

  #write(job: DownloadJob): void {
    const done = job.totalBytes === 0 ? 1 : job.downloadedBytes / job.totalBytes;
    const isNew = job.state !== this.#state && ['verifying', 'completed'].includes(job.state);
    const isStep = job.state === 'downloading' && done >= this.#nextStep;
    this.#state = job.state;
    if (!isNew && !isStep) return;
    while (this.#nextStep <= done) this.#nextStep += QUIET_STEP;
    this.terminal.write(`${job.model}: ${job.state} ${amount(job)}\n`);
  }
}

/** Such as `user/repo:Q4_K_M [###-----------]  25 %  1.2 of 4.9 GB  34 MB/s  1 min 48 s`, in 79 columns at most. */
export function progressLine(job: DownloadJob, width = MAX_WIDTH): string {
  const { model, state, bytesPerSecond, secondsLeft, downloadedBytes, totalBytes } = job;
  const done = totalBytes === 0 ? 1 : downloadedBytes / totalBytes;
  const filled = Math.floor(done * BAR_LENGTH);
  const speed = bytesPerSecond === null ? '' : `  ${formatBytes(bytesPerSecond)}/s`;
  const left = secondsLeft === null ? '' : `  ${inTime(secondsLeft)}`;
  const told = state === 'downloading' ? speed + left : `  ${state}`;
  const rest = ` ${String(Math.floor(done * 100)).padStart(3)} %  ${amount(job)}${told}`;
  const bar = ` [${'#'.repeat(filled)}${'-'.repeat(BAR_LENGTH - filled)}]`;
  const room = Math.min(width, MAX_WIDTH) - 1 - rest.length;
  // If the line is too narrow, drop the bar before shortening the name.
  return room - bar.length >= 12 ? shorten(model, room - bar.length) + bar + rest : shorten(model, room) + rest;
}

function amount({ downloadedBytes, totalBytes }: DownloadJob): string {
  return `${formatBytes(downloadedBytes)} of ${formatBytes(totalBytes)}`;
}
