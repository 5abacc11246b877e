/** Converts a model to llama-server's properties of it. */
import { basename } from 'node:path';
import type { EngineStats, ModelInfo } from '../../../engine/engine.js';
import { completeJob } from '../../../engine/job.js';
import { quantisationOf } from '../../../models/model-facts.js';
import type { SamplingSettings } from '../../../options/sampling-table.js';
import { VERSION } from '../../../version.js';
import { toGenerationSettings } from '../../shared/completion/generation-settings.js';
import { type AdapterList, MEDIA_MARKER, type Props, type Slots } from '../schema.js';

export function toProps(
  model: ModelInfo,
  sampling: SamplingSettings,
  { slots, isSleeping }: { slots: boolean; isSleeping: boolean },
): Props {
  return {
    default_generation_settings: {
      n_ctx: model.contextLength,
      params: toGenerationSettings(completeJob({ prompt: '' }, sampling), model, { stream: false }),
    },
    total_slots: model.parallel,
    model_alias: model.id,
    model_path: basename(model.path),
    model_ftype: quantisationOf(model),
    modalities: { vision: model.vision, audio: model.audioSampleRate > 0, video: false },
    endpoint_slots: slots,
    endpoint_props: false,
    endpoint_metrics: true,
    build_info: `chasqui-${VERSION}`,
    media_marker: MEDIA_MARKER,
    is_sleeping: isSleeping,
  };
}

/** Sequences are not bound to slots: only the number of occupied slots is meaningful. */
export function toSlots({ parallel, contextLength }: ModelInfo, stats: EngineStats): Slots {
  return Array.from({ length: parallel }, (_, id) => ({
    id,
    n_ctx: contextLength,
    speculative: stats.draftedTokens > 0,
    is_processing: id < stats.active,
  }));
}

/** With the default scales, so that sending the list back changes nothing. */
export function toAdapterList({ adapters = [], adaptersInUse = [] }: ModelInfo): AdapterList {
  const scaleOf = (id: number): number => adaptersInUse.find(({ adapter }) => adapter === id)?.scale ?? 0;
  return adapters.map(({ name }, id) => ({ id, name, scale: scaleOf(id) }));
}
