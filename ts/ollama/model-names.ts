/** Names of models as Ollama has them: with a tag, which is `latest` where none is given. */
import type { ModelEntry } from '../models/pool.js';

const LATEST = ':latest';

export function toOllamaName(id: string): string {
  return id.includes(':') ? id : id + LATEST;
}

/** The id of the model that a name means; the name without its tag where there is none of the whole name. */
export function toModelId(name: string, entries: readonly Pick<ModelEntry, 'id'>[]): string {
  if (!name.endsWith(LATEST) || entries.some(({ id }) => id === name)) return name;
  return name.slice(0, -LATEST.length);
}
