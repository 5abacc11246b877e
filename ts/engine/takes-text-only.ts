import { ChasquiError } from '../errors.js';

export function takesTextOnly(model: string): ChasquiError {
  return new ChasquiError(
    'image_not_supported',
    `The model \`${model}\` takes text only; it was loaded without a vision projector (\`mmproj\`).`,
  );
}
