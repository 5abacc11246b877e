/** Converts the adapters of a request to indexes among those of the model. */
import type { AdapterUse } from '../../../engine/adapter-file.js';
import type { ModelInfo } from '../../../engine/engine.js';
import { invalidValue } from '../../../errors.js';
import type { RequestedAdapter } from './chat-schema.js';

const MAX_SHOWN = 10;

/** `field`: the name of the list in errors, or `null` if the list is the body of a request. */
export function toAdapterUses(
  lora: readonly RequestedAdapter[],
  model: Pick<ModelInfo, 'adapters'>,
  field: string | null,
): AdapterUse[] {
  const placeOf = (at: number): string => `${field ?? ''}[${at}].id`;
  const { adapters: known = [] } = model;
  const uses = lora.map(({ id, scale }, at): AdapterUse => {
    const adapter = typeof id === 'string' ? known.findIndex(({ name }) => name === id) : id;
    const found = known[adapter];
    if (found === undefined) throw invalidValue(notThere(model, field), placeOf(at));
    return { adapter, scale: scale ?? found.scale };
  });
  const twice = uses.findIndex(({ adapter }, at) => uses.findIndex((each) => each.adapter === adapter) < at);
  if (twice < 0) return uses;
  const list = field === null ? 'The list' : `\`${field}\``;
  throw invalidValue(`${list} names the same adapter twice.`, placeOf(twice));
}

function notThere({ adapters = [] }: Pick<ModelInfo, 'adapters'>, field: string | null): string {
  if (adapters.length === 0) {
    return `The model was loaded without adapters${field === null ? '' : `: leave \`${field}\` out`}.`;
  }
  const names = adapters.slice(0, MAX_SHOWN).map(({ name }, at) => `${at} (${name})`);
  return `The model has no such adapter; it has ${names.join(', ')}${adapters.length > MAX_SHOWN ? ' and others' : ''}.`;
}
