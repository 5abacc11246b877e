/** Names of models as Ollama has them: with a tag, which is `latest` where none is given. */
import { findEntry, type ModelEntry } from '../../models/pool.js';

const LATEST = ':latest';

export function toOllamaName(id: string): string {
  return id.includes(':') ? id : id + LATEST;
}

type Named = Pick<ModelEntry, 'id'> & Partial<Pick<ModelEntry, 'aliases'>>;

/** The name by which others know the model; the name without its tag where there is none of the whole name. */
export function toModelId(name: string, entries: readonly Named[]): string {
  if (!name.endsWith(LATEST) || findEntry(entries, name) !== undefined) return name;
  return name.slice(0, -LATEST.length);
}
