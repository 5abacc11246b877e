/** The text that `chasqui serve` prints when it is ready. */
import os from 'node:os';
import type { ModelInfo } from '../../engine/engine.js';
import type { LoadOptions } from '../../engine/load-options.js';
import { formatBytes } from '../../hub/format-bytes.js';
import type { ModelEntry } from '../../models/pool.js';
import { ownCall } from '../../own-call.js';
import type { Profile } from '../../profiles/profile.js';
import type { Server } from '../../server/start.js';
import { HOSTING_OPTIONS, type HostingOptions } from '../options/hosting-option-table.js';
import { withFlags } from '../options/option-names.js';
import { baseUrl, type CurlSettings, curlLine } from '../output/curl-line.js';
import { socketOf } from './hosting.js';

export function announce(
  server: Server,
  models: readonly ModelEntry[],
  profile: Profile,
  options: HostingOptions,
  load: LoadOptions,
): void {
  const { basePath } = server;
  const scheme = schemeOf(profile, options);
  const socket = socketOf(options);
  const base = addressOf(server, options);
  const first = models.find(({ engine }) => engine !== null) ?? models[0];
  const info = first?.engine?.model;
  console.log(`Serving ${namesOf(models)} at ${base}/v1${socket === undefined ? '' : ` on the socket ${socket}`}`);
  if (info !== undefined) console.log(`${placeOf(info)}${memoryOf(first)}`);
  warnAboutAddress(server, scheme, socket);
  if (info !== undefined) {
    console.log(`Context: ${contextOf(info)}; model: ${formatBytes(info.sizeBytes)}, ${info.quantization}`);
    for (const warning of warningsOf(info, load)) console.error(`chasqui: ${warning}`);
  }
  for (const { id, engine } of models) {
    if (engine?.model.unfitted === undefined) continue;
    console.error(`chasqui: ${models.length > 1 ? `${id}: ` : ''}${withFlags(engine.model.unfitted)}`);
  }
  for (const { id } of models.filter(({ engine }) => engine?.model.genericTools && engine.model.generates)) {
    console.log(`The chat template of ${id} does not support tools: using a generic format.`);
  }
  const { webui = HOSTING_OPTIONS.webui.default } = options;
  if (webui && socket === undefined && basePath === '' && info?.generates) console.log(`Chat in a browser: ${base}/`);
  const asks = info === undefined || info.generates ? 'chat' : info.pooling === 'rank' ? 'rerank' : 'embeddings';
  if (options.autoload === false && first?.engine === null) {
    console.log(`Load a model first:\n\n  ${ownCall()} load ${first.id} --url ${base}\n`);
  }
  if (first === undefined) {
    console.log(`Download a model: send {"model": "user/repo"} to ${base}/v1/models, or use Ollama's \`pull\`.`);
    return;
  }
  console.log(`Try it:\n\n  ${curlLine(base, first.id, process.platform, { scheme, asks, socket })}\n`);
  if (scheme === 'Key') console.log(`Replace <API_KEY> with an API key. Create one: \`${ownCall()} keys create\``);
  if (scheme === 'Bearer') console.log('Replace <API_KEY> with one of the keys.');
}

/** Without `/v1`. */
export function addressOf({ hosts: [host = ''], port, basePath }: Server, options: HostingOptions): string {
  const transport = options.tlsCert === undefined ? 'http' : 'https';
  const origin = socketOf(options) === undefined ? baseUrl(host, port, transport) : `${transport}://localhost`;
  return `${origin}${basePath}`;
}

function placeOf({ placement: { devices, gpuLayers, layers } }: ModelInfo): string {
  return devices.length === 0 ? 'Backend: CPU' : `Layers on ${devices.join(', ')}: ${gpuLayers} of ${layers}`;
}

/** An engine in the process of the server has no memory of its own. */
function memoryOf(entry: ModelEntry | undefined): string {
  return entry?.memoryBytes ? `; memory: ${formatBytes(entry.memoryBytes)}` : '';
}

const WILDCARDS = ['0.0.0.0', '::'];
/** The ports above 1023 that browsers and `fetch` refuse, by the Fetch standard. */
const BLOCKED_PORTS = new Set([
  ...[1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566],
  ...[6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080],
]);

function warnAboutAddress({ hosts, port }: Server, scheme: CurlSettings['scheme'], socket: string | undefined): void {
  if (socket !== undefined) return;
  if (BLOCKED_PORTS.has(port)) console.error(`chasqui: browsers and fetch refuse port ${port}; choose another`);
  if (!hosts.some((host) => WILDCARDS.includes(host))) return;
  const addresses = Object.values(os.networkInterfaces())
    .flatMap((each) => each ?? [])
    .filter(
      ({ internal, family, scopeid }) => !internal && (family === 'IPv4' ? true : hosts.includes('::') && !scopeid),
    );
  for (const { address } of addresses) console.log(`Reachable at ${baseUrl(address, port)}/v1`);
  if (scheme === null) console.error('chasqui: everyone who reaches these addresses can use the server; see --api-key');
}

export function warningsOf(
  {
    contextLength,
    trainedContextLength,
    placement,
  }: Pick<ModelInfo, 'contextLength' | 'trainedContextLength' | 'placement'>,
  { gpuLayers, contextSize = contextLength }: LoadOptions,
): string[] {
  const isLong = contextLength > trainedContextLength && trainedContextLength > 0;
  const warnings = isLong
    ? [`the context exceeds the ${trainedContextLength} tokens that the model was trained with; see --rope-scaling`]
    : [];
  if (contextLength > contextSize) warnings.push(`--ctx-size ${contextSize} was rounded up to ${contextLength}`);
  const hasLayers = typeof gpuLayers === 'number' ? gpuLayers > 0 : gpuLayers === 'all';
  if (hasLayers && placement.devices.length === 0)
    warnings.push(`--gpu-layers has no effect: no GPU is used; see ${ownCall()} doctor`);
  return warnings;
}

export function contextOf({
  contextLength,
  trainedContextLength,
  parallel,
  kvCells,
}: Pick<ModelInfo, 'contextLength' | 'trainedContextLength' | 'parallel' | 'kvCells'>): string {
  const isOther = trainedContextLength > 0 && trainedContextLength !== contextLength;
  const trained = isOther ? `; the model was trained for ${trainedContextLength}` : '';
  if (kvCells < contextLength * parallel) {
    const together = `${kvCells} for ${parallel} completions at a time together`;
    return `${contextLength} tokens, and ${together}, see --kv-budget${trained}`;
  }
  const advice = contextLength < trainedContextLength ? ', see --ctx-size' : '';
  return `${contextLength} tokens for each of ${parallel} completions at a time${trained}${advice}`;
}

function schemeOf({ authentication }: Profile, { auth }: HostingOptions): CurlSettings['scheme'] {
  if (authentication === 'key') return auth === 'public' ? null : 'Key';
  return authentication === 'bearer' ? 'Bearer' : null;
}

const MAX_NAMES = 5;

function namesOf(models: readonly ModelEntry[]): string {
  if (models.length === 0) return 'no models yet';
  const names = models.slice(0, MAX_NAMES).map(({ id }) => id);
  const others = models.length - names.length;
  return `${names.join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
}
