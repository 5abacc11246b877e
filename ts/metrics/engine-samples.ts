/** Converts an engine's counters to samples. */
import type { EngineStats } from '../engine/engine.js';
import { readProcessUsage } from '../process/process-usage.js';
import type { MetricName } from './catalogue.js';
import type { Snapshot } from './engine-snapshot.js';
import type { CurrentSamples } from './registry.js';

/** The metrics that are one number among the engine's counts. */
const NUMBERS: Partial<Record<MetricName, (stats: EngineStats) => number>> = {
  num_requests_running: ({ active }) => active,
  num_requests_waiting: ({ queued }) => queued,
  kv_cache_usage_perc: ({ kvCellsUsed, kvCellsTotal }) => (kvCellsTotal > 0 ? kvCellsUsed / kvCellsTotal : 0),
  engine_step_age_seconds: ({ stepAgeMs }) => stepAgeMs / 1000,
  engine_steps_total: ({ decodeSteps }) => decodeSteps,
  engine_passes_total: ({ decodePasses }) => decodePasses,
  engine_step_seconds_total: ({ stepMs }) => stepMs / 1000,
  num_preemptions_total: ({ preemptions }) => preemptions,
  spec_decode_num_draft_tokens_total: ({ draftedTokens }) => draftedTokens,
  spec_decode_num_accepted_tokens_total: ({ acceptedTokens }) => acceptedTokens,
  images_encoded_total: ({ imagesEncoded }) => imagesEncoded,
  embedded_tokens_total: ({ embeddedTokens }) => embeddedTokens,
  sampled_aside_total: ({ sampledAside }) => sampledAside,
};

/** Adds an engine's samples to those of other engines. */
export function addEngineSamples(samples: CurrentSamples, model: string, { stats, isUp, pid }: Snapshot): void {
  const labels = { model_name: model };
  const add = (name: MetricName, value: number, more: Record<string, string> = {}): void => {
    samples.set(name, [...(samples.get(name) ?? []), { labels: { ...labels, ...more }, value }]);
  };
  add('engine_up', isUp ? 1 : 0);
  const usage = pid === null ? null : readProcessUsage(pid);
  if (usage !== null) {
    add('engine_process_cpu_seconds_total', usage.cpuSeconds);
    add('engine_process_resident_memory_bytes', usage.residentBytes);
  }
  if (stats === null) return;
  for (const [name, numberOf] of Object.entries(NUMBERS)) add(name as MetricName, numberOf(stats));
  const { kvCellsUsed, kvCellsCached, kvCellsTotal } = stats;
  add('kv_cache_cells', kvCellsUsed, { state: 'used' });
  add('kv_cache_cells', kvCellsCached, { state: 'cached' });
  add('kv_cache_cells', Math.max(0, kvCellsTotal - kvCellsUsed - kvCellsCached), { state: 'free' });
}
