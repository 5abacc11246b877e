/** The same measurements under the names that dashboards and load balancers of other servers ask for. */
import type { EngineStats } from '../engine/engine.js';
import { fullName, type MetricName } from './catalogue.js';
import type { EngineSums } from './engine-counts.js';
import type { Family, FamilyKind } from './exposition.js';

export const OTHER_NAMES = ['vllm', 'llamacpp'] as const;
export type OtherNames = (typeof OTHER_NAMES)[number];

/** vLLM has these under the same names, with the prefix `vllm:`. */
const VLLM: readonly MetricName[] = [
  'num_requests_running',
  'num_requests_waiting',
  'kv_cache_usage_perc',
  'prefix_cache_queries_total',
  'prefix_cache_hits_total',
  'prompt_tokens_total',
  'generation_tokens_total',
  'request_success_total',
  'num_preemptions_total',
  'time_to_first_token_seconds',
  'inter_token_latency_seconds',
  'request_time_per_output_token_seconds',
  'e2e_request_latency_seconds',
  'request_queue_time_seconds',
  'request_prefill_time_seconds',
  'request_decode_time_seconds',
  'request_inference_time_seconds',
  'request_prompt_tokens',
  'request_generation_tokens',
  'spec_decode_num_draft_tokens_total',
  'spec_decode_num_accepted_tokens_total',
];

/** vLLM counts its KV cache in blocks; this is its usual size of a block, in cells. */
const VLLM_BLOCK = 16;

/** Sums over all models, because llama-server has no labels. */
export interface Totals {
  promptTokens: number;
  cachedTokens: number;
  generatedTokens: number;
  promptSeconds: number;
  generationSeconds: number;
  longestSequence: number;
  engines: readonly EngineStats[];
  /** Includes engines that were unloaded. */
  counts: EngineSums;
}

/** The value: a sum over the engines, or a function. */
type LlamaRow = [name: string, kind: FamilyKind, help: string, value: keyof EngineStats | ((totals: Totals) => number)];

const LLAMACPP: readonly LlamaRow[] = [
  [
    'prompt_tokens_total',
    'counter',
    'Tokens of prompts that were computed.',
    (all) => all.promptTokens - all.cachedTokens + all.counts.embeddedTokens,
  ],
  ['prompt_tokens_cached_total', 'counter', 'Tokens of prompts that came from the cache.', (all) => all.cachedTokens],
  ['prompt_seconds_total', 'counter', 'Time spent on prompts.', (all) => all.promptSeconds],
  ['tokens_predicted_total', 'counter', 'Tokens generated.', (all) => all.generatedTokens],
  ['tokens_predicted_seconds_total', 'counter', 'Time spent generating.', (all) => all.generationSeconds],
  ['n_decode_total', 'counter', 'Steps computed.', ({ counts }) => counts.decodeSteps + counts.embeddingSteps],
  ['n_tokens_max', 'counter', 'The longest sequence so far.', (all) => all.longestSequence],
  ['spec_decode_num_drafts_total', 'counter', 'Drafts that were verified.', ({ counts }) => counts.drafts],
  [
    'spec_decode_num_draft_tokens_total',
    'counter',
    'Tokens that drafts proposed.',
    ({ counts }) => counts.draftedTokens,
  ],
  [
    'spec_decode_num_accepted_tokens_total',
    'counter',
    'Tokens of drafts that were accepted.',
    ({ counts }) => counts.acceptedTokens,
  ],
  [
    'prompt_tokens_seconds',
    'gauge',
    'Tokens of prompts computed in a second, on average.',
    ({ promptTokens, cachedTokens, promptSeconds }) => ratio(promptTokens - cachedTokens, promptSeconds),
  ],
  [
    'predicted_tokens_seconds',
    'gauge',
    'Tokens of one completion generated in a second, on average.',
    ({ generatedTokens, generationSeconds }) => ratio(generatedTokens, generationSeconds),
  ],
  [
    'n_busy_slots_per_decode',
    'gauge',
    'Slots computed in a step, on average.',
    (all) => ratio(sum(all, 'busySlots'), sum(all, 'decodeSteps')),
  ],
  ['requests_processing', 'gauge', 'Completions that are running.', 'active'],
  ['requests_deferred', 'gauge', 'Completions that wait.', 'queued'],
];

/** `families` are the metrics under our own names. */
export function familiesUnder(names: OtherNames, families: readonly Family[], totals: Totals): Family[] {
  return names === 'vllm' ? vllmFamilies(families, totals) : llamaFamilies(totals);
}

function vllmFamilies(families: readonly Family[], totals: Totals): Family[] {
  const wanted = new Map(VLLM.map((name) => [fullName(name), `vllm:${name}`]));
  const renamed = families.flatMap((family): Family[] => {
    const name = wanted.get(family.name);
    if (name === undefined) return [];
    const samples = family.samples.map((sample) => ({ ...sample, labels: { engine: '0', ...sample.labels } }));
    return [{ ...family, name, samples }];
  });
  return [...renamed, ...vllmInfos(totals)];
}

/** Kubernetes' endpoint picker reports an error at every scrape of a vLLM server without these two. */
function vllmInfos(totals: Totals): Family[] {
  const blocks = Math.floor(sum(totals, 'kvCellsTotal') / VLLM_BLOCK);
  const cache = { engine: '0', block_size: String(VLLM_BLOCK), num_gpu_blocks: String(blocks) };
  const adapters = { max_lora: '0', running_lora_adapters: '', waiting_lora_adapters: '' };
  return [
    {
      name: 'vllm:cache_config_info',
      kind: 'gauge',
      help: 'The KV cache in blocks of 16 cells.',
      samples: [{ labels: cache, value: 1 }],
    },
    {
      name: 'vllm:lora_requests_info',
      kind: 'gauge',
      help: 'Adapters in use; the value is the time.',
      samples: [{ labels: adapters, value: Date.now() / 1000 }],
    },
  ];
}

function llamaFamilies(totals: Totals): Family[] {
  return LLAMACPP.map(([name, kind, help, value]) => ({
    name: `llamacpp:${name}`,
    kind,
    help,
    samples: [{ labels: {}, value: typeof value === 'string' ? sum(totals, value) : value(totals) }],
  }));
}

function sum({ engines }: Totals, name: keyof EngineStats): number {
  return engines.reduce((total, stats) => total + stats[name], 0);
}

function ratio(amount: number, per: number): number {
  return per > 0 ? amount / per : 0;
}
