/** State and log of the running desktop app, for `chasqui status` and `chasqui logs`. */
import type { AppState, LogLine } from '../../desktop/api-types.js';
import { formatBytes } from '../../hub/format-bytes.js';
import type { DesktopClient } from '../desktop/desktop-client.js';
import { toJson } from '../output/json.js';
import { printable } from '../output/log-output.js';
import { type Columns, toTable } from '../output/table.js';

const FOLLOW_EVERY_MS = 500;
export const MAX_LINES = 2000;

export interface ShownLines {
  count: number;
  /** Minimum level. */
  level: LogLine['level'];
  follow: boolean;
  json: boolean;
}

export function printApp(url: string, state: AppState): void {
  const { server, models, downloads } = state;
  console.log(`App      ${url}, version ${state.version}`);
  console.log(
    `Server   ${server.state}${server.address === null ? '' : ` at ${server.address}/v1`}${withModel(server.model)}`,
  );
  if (server.error !== null) console.log(`         ${server.error}`);
  if (models.length > 0) console.log(`\n${toTable(MODEL_COLUMNS, models)}`);
  const coming = downloads.filter(({ state: each }) => !['completed', 'cancelled'].includes(each));
  if (coming.length > 0) console.log(`\n${toTable(DOWNLOAD_COLUMNS, coming)}`);
}

function withModel(model: string | null): string {
  return model === null ? '' : `, any name means ${model}`;
}

type ShownModel = AppState['models'][number];
type ShownDownload = AppState['downloads'][number];

const MODEL_COLUMNS: Columns<ShownModel> = {
  MODEL: ({ id }) => id,
  STATE: ({ state, progress }) => (progress === null ? state : `${state} ${Math.floor(progress * 100)} %`),
  CONTEXT: ({ contextLength }) => contextLength ?? undefined,
  MEMORY: ({ memoryBytes }) => sizeOf(memoryBytes),
  RUNNING: ({ running }) => running,
  QUEUED: ({ queued }) => queued,
};

const DOWNLOAD_COLUMNS: Columns<ShownDownload> = {
  DOWNLOAD: ({ model }) => model,
  STATE: ({ state }) => state,
  DONE: ({ downloadedBytes, totalBytes }) =>
    `${totalBytes === 0 ? 0 : Math.floor((downloadedBytes * 100) / totalBytes)} %`,
  SIZE: ({ totalBytes }) => sizeOf(totalBytes),
};

function sizeOf(bytes: number | null): string | undefined {
  return bytes === null ? undefined : formatBytes(bytes);
}

export async function printAppLog(app: DesktopClient, options: ShownLines): Promise<void> {
  const read = async (count: number) =>
    (await app.get<{ lines: LogLine[] }>(`/api/v1/logs?limit=${count}`)).lines.filter(({ level }) =>
      isAtLeast(level, options.level),
    );
  let shown = await read(options.count);
  for (const line of shown) print(line, options);
  while (options.follow) {
    await new Promise((resolve) => setTimeout(resolve, FOLLOW_EVERY_MS));
    const present = await read(MAX_LINES);
    const known = new Set(shown.map((line) => JSON.stringify(line)));
    const since = shown[0]?.at ?? 0;
    for (const line of present) if (line.at >= since && !known.has(JSON.stringify(line))) print(line, options);
    shown = present;
  }
}

export const LEVELS: readonly LogLine['level'][] = ['debug', 'info', 'warn', 'error'];

export function isAtLeast(level: LogLine['level'], minimum: LogLine['level']): boolean {
  return LEVELS.indexOf(level) >= LEVELS.indexOf(minimum);
}

function print(line: LogLine, { json }: ShownLines): void {
  if (json) {
    console.log(toJson(line));
    return;
  }
  const time = new Date(line.at).toISOString().slice(0, 19).replace('T', ' ');
  console.log(`${time} ${line.level.padEnd(5)} ${printable(line.message)}`);
}
