import { ChasquiError } from '../errors.js';
import { ARCHITECTURES } from './architecture-list.js';

/** @throws {ChasquiError} `architecture_unknown` */
export function checkArchitecture(architecture: string, model: string): void {
  if (isKnownArchitecture(architecture)) return;
  throw new ChasquiError(
    'architecture_unknown',
    `${model} is of the kind \`${architecture.slice(0, 60)}\`, which this llama.cpp cannot load. A newer chasqui may.`,
    'model',
  );
}

export function isKnownArchitecture(architecture: string): boolean {
  return ARCHITECTURES.has(architecture);
}
