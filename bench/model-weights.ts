/** The minimum cost of a token, from the tensors of a model file. */
import { readTensors, type StoredTensor } from '../test/support/gguf.js';

export interface ModelWeights {
  /** Weight bytes read per decoded token: all except the embeddings of other tokens. */
  bytesRead: number;
  /** Multiplications per prompt token without logits. */
  products: number;
}

/** For dense models, which use every weight for each token. */
export function modelWeights(file: string): ModelWeights {
  const tensors = readTensors(file);
  const embeds = ({ name }: StoredTensor) => name === 'token_embd.weight';
  const isOutput = ({ name }: StoredTensor) => name === 'output.weight';
  // Models without an output matrix use the embeddings instead.
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
