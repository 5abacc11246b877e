/** What a person should know about how a model was loaded, because it is not what one might expect. */
import type { ModelInfo } from '../engine/engine.js';
import type { LoadConfig } from './api-types.js';

const number = new Intl.NumberFormat('en');

/** In sentences; none where there is nothing to say. */
export function loadNotes(model: ModelInfo, config: LoadConfig): string[] {
  return [contextNote(model, config), placementNote(model, config), toolsNote(model)].filter((note) => note !== null);
}

/** A context that is shorter than what the model was trained for is chosen by somebody: it is said by whom, and why. */
function contextNote(model: ModelInfo, { contextSize, fit }: LoadConfig): string | null {
  const { generates, contextLength, trainedContextLength, parallel, kvCells } = model;
  const isShared = kvCells < contextLength * parallel;
  if (!generates || (contextLength >= trainedContextLength && !isShared)) return null;
  const room = `${number.format(contextLength)} of ${number.format(trainedContextLength)} tokens`;
  if (isShared) {
    return `Context: ${room}, and ${number.format(kvCells)} for ${parallel} conversations at a time together.`;
  }
  const each = parallel > 1 ? `, for each of ${parallel} conversations at a time` : '';
  const why =
    contextSize !== undefined
      ? 'as its load settings say'
      : fit === 'on'
        ? 'as much as fits into half of the free memory'
        : 'to leave memory for other models; its load settings say how much more fits';
  return `Context: ${room}${each}: ${why}.`;
}

function placementNote({ placement, unfitted, gpus = [] }: ModelInfo, { gpuLayers }: LoadConfig): string | null {
  if (unfitted !== undefined) return `${unfitted.replaceAll('`gpuLayers`', 'GPU layers')}.`.replace(/\.\.$/, '.');
  const { devices, gpuLayers: onGpu, layers } = placement;
  if (devices.length === 0 && gpus.length === 0) return null;
  const isChosen = typeof gpuLayers === 'number';
  if (devices.length === 0 || onGpu === 0) {
    return isChosen
      ? 'All layers are on the CPU, as its load settings say; on the GPU it would be faster.'
      : 'All layers are on the CPU: the GPU has no room for them. A smaller quantisation or context may fit there.';
  }
  if (onGpu >= layers) return `All ${layers} layers are on ${devices.join(', ')}.`;
  const why = isChosen ? 'as its load settings say' : 'as many as fit; a smaller quantisation or context is faster';
  return `${onGpu} of ${layers} layers are on ${devices.join(', ')}, ${why}.`;
}

/** As `chasqui serve` says it at its start. */
function toolsNote({ genericTools, generates }: ModelInfo): string | null {
  if (!genericTools || !generates) return null;
  return 'Its chat template has no form for tools: they are offered in a general one.';
}
