/** The names that requests may give a model and its adapters. */
import { adaptedId } from './adapters.js';
import type { ModelSlot } from './model-slot.js';
import { withTag } from './pool.js';

/** A name that requests may use. */
export interface Named {
  slot: ModelSlot;
  /** `null`: the model alone. */
  adapter: string | null;
  /** Another model or adapter may take the name. */
  isOptional: boolean;
}

/** All names of a model and its adapters. An optional name is dropped if another model has it. */
export function namesOf(slot: ModelSlot): Map<string, Named> {
  const { id, aliases, adapters = [] } = slot.source;
  const names = new Map<string, Named>();
  for (const name of [id, ...aliases]) names.set(withTag(name), { slot, adapter: null, isOptional: true });
  for (const { name } of adapters) names.set(name, { slot, adapter: name, isOptional: true });
  for (const { name } of adapters) names.set(adaptedId(id, name), { slot, adapter: name, isOptional: false });
  for (const name of [id, ...aliases]) names.set(name, { slot, adapter: null, isOptional: false });
  return names;
}
