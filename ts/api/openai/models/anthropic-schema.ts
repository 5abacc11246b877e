/** The replies of `GET /v1/models` and `GET /v1/models/{id}` to Anthropic's clients. */
import {
  arrayOf,
  boolean,
  exactly,
  integer,
  objectOf,
  orNull,
  type Static,
  string,
} from '../../../http/schema/json-schema.js';

export const anthropicModelSchema = objectOf({
  type: exactly('model'),
  id: string,
  display_name: string,
  /** RFC 3339; when the model was loaded, or before that, when the server came to know it. */
  created_at: string,
  /** Tokens, of prompt and completion together; `null` before the model is loaded. */
  max_input_tokens: orNull(integer),
  max_tokens: orNull(integer),
});

export const anthropicModelListSchema = objectOf({
  data: arrayOf(anthropicModelSchema),
  has_more: boolean,
  first_id: orNull(string),
  last_id: orNull(string),
});

export type AnthropicModel = Static<typeof anthropicModelSchema>;
export type AnthropicModelList = Static<typeof anthropicModelListSchema>;
