/** What a token costs at least, from the tensors of a model's file. */
import { readTensors, type StoredTensor } from '../test/support/gguf.js';

export interface ModelWeights {
  /** Bytes of weights that a token of a completion takes: all, but for embeddings of other tokens. */
  bytesRead: number;
  /** Products of a weight and an activation for a token of a prompt, whose logits nobody wants. */
  products: number;
}

/** Of a model without experts, where each token takes every weight. */
export function modelWeights(file: string): ModelWeights {
  const tensors = readTensors(file);
  const embeds = ({ name }: StoredTensor) => name === 'token_embd.weight';
  const isOutput = ({ name }: StoredTensor) => name === 'output.weight';
  // Without a matrix for the output the embeddings are it.
  const read = tensors.some(isOutput) ? tensors.filter((tensor) => !embeds(tensor)) : tensors;
  const multiplied = tensors.filter((tensor) => tensor.shape.length > 1 && !embeds(tensor) && !isOutput(tensor));
  return {
    bytesRead: sum(read.map(({ bytes }) => bytes)),
    products: sum(multiplied.map(({ shape }) => shape.reduce((product, length) => product * length))),
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
