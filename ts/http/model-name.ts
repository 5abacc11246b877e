/** Whether a request is for the model that is served here. */
import type { ModelInfo } from '../engine/engine.js';
import { ChasquiError } from '../errors.js';

export function unknownModel(asked: string, served: ModelInfo, param: string | null = null): ChasquiError {
  const shown = asked.length > 100 ? `${asked.slice(0, 100)}…` : asked;
  return new ChasquiError(
    'model_not_found',
    `The model \`${shown}\` is not served here; this server has \`${served.id}\`.`,
    param,
  );
}
