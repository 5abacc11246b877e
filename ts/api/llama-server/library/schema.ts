/** Schemas of downloads and deletions of models in the form of llama-server. */
import * as s from '../../../http/schema/json-schema.js';

const MAX_NAME_LENGTH = 400;

export const modelDownloadSchema = s.objectOf({
  model: s.field(
    'The name in the hub: `user/repo`, with a quantization or a file after a colon.',
    s.limited(s.string, { minLength: 1, maxLength: MAX_NAME_LENGTH }),
  ),
});

export type ModelDownload = s.Static<typeof modelDownloadSchema>;
