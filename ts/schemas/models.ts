/** The replies of `GET /v1/models` and `GET /v1/models/{id}`. */

export interface ModelEntry {
  id: string;
  object: 'model';
  /** Unix seconds; when the model was loaded. */
  created: number;
  owned_by: string;
  /** The longest prompt plus answer, in tokens. */
  context_length: number;
  input_modalities: readonly string[];
}

export interface ModelList {
  object: 'list';
  data: ModelEntry[];
}
