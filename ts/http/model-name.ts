/** Whether a request is for the model that is served here. */
import type { ModelInfo } from '../engine/engine.js';
import { ChasquiError } from '../errors.js';
import type { Profile } from '../profiles/profile.js';

/** Throws `model_not_found`, unless any name will do or none was given. */
export function checkModelName(asked: string | undefined, served: ModelInfo, profile: Profile): void {
  if (profile.checksModelName && asked !== undefined && asked !== served.id) throw unknownModel(asked, served, 'model');
}

export function unknownModel(asked: string, served: ModelInfo, param: string | null = null): ChasquiError {
  const shown = asked.length > 100 ? `${asked.slice(0, 100)}…` : asked;
  return new ChasquiError(
    'model_not_found',
    `The model \`${shown}\` is not served here; this server has \`${served.id}\`.`,
    param,
  );
}
