/** Notes on load results that users may not expect. */
import type { ModelInfo } from '../engine/engine.js';
import type { LoadConfig } from './api-types.js';

const number = new Intl.NumberFormat('en');

/** Sentences; empty if there is nothing to report. */
export function loadNotes(model: ModelInfo, config: LoadConfig): string[] {
  return [contextNote(model, config), placementNote(model, config), toolsNote(model)].filter((note) => note !== null);
}

/** Explains a context that is shorter than the model's trained context. */
function contextNote(model: ModelInfo, { contextSize, fit }: LoadConfig): string | null {
  const { generates, contextLength, trainedContextLength, parallel, kvCells } = model;
  const isShared = kvCells < contextLength * parallel;
  if (!generates || (contextLength >= trainedContextLength && !isShared)) return null;
  const room = `${number.format(contextLength)} of ${number.format(trainedContextLength)} tokens`;
  if (isShared) {
    return `Context: ${room}, ${number.format(kvCells)} in total for ${parallel} parallel conversations.`;
  }
  const each = parallel > 1 ? `, for each of ${parallel} parallel conversations` : '';
  const why =
    contextSize !== undefined
      ? 'set in its load settings'
      : fit === 'on'
        ? 'the maximum for half of the free memory'
        : 'to leave memory for other models; the load settings show how much more fits';
  return `Context: ${room}${each}: ${why}.`;
}

function placementNote({ placement, unfitted, gpus = [] }: ModelInfo, { gpuLayers }: LoadConfig): string | null {
  if (unfitted !== undefined) return `${withLabels(unfitted)}.`.replace(/\.\.$/, '.');
  const { devices, gpuLayers: onGpu, layers } = placement;
  if (devices.length === 0 && gpus.length === 0) return null;
  const isChosen = typeof gpuLayers === 'number';
  if (devices.length === 0 || onGpu === 0) {
    return isChosen
      ? 'All layers are on the CPU, as set in its load settings. It would be faster on the GPU.'
      : 'All layers are on the CPU, because they do not fit into GPU memory. A smaller quantisation or context may fit.';
  }
  if (onGpu >= layers) return `All ${layers} layers are on ${devices.join(', ')}.`;
  const why = isChosen
    ? 'as set in its load settings'
    : 'as many as fit; a smaller quantisation or context would be faster';
  return `${onGpu} of ${layers} layers are on ${devices.join(', ')}, ${why}.`;
}

/** Replaces option names in backticks by the labels of the form. */
function withLabels(text: string): string {
  return text.replaceAll(/`([a-zA-Z]+)`/g, (_, name: string) =>
    name.replaceAll(/[A-Z]/g, (capital) => ` ${capital.toLowerCase()}`).replace('gpu', 'GPU'),
  );
}

/** The same hint as `chasqui serve` prints at its start. */
function toolsNote({ genericTools, generates }: ModelInfo): string | null {
  if (!genericTools || !generates) return null;
  return 'Its chat template does not support tools; a generic format is used.';
}
