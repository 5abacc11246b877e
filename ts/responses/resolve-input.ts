/** The items of a request, after those of the response that it goes on from, and with those that it only refers to. */
import { ChasquiError } from '../errors.js';
import { newId } from '../new-id.js';
import type { InputItem, StoredItem } from '../schemas/response-input.js';
import type { ResponsesRequest } from '../schemas/responses.js';
import { MAX_STORED_INPUT, type ResponseStore, type StoredResponse } from './store/response-store.js';

/** An item, and the path of the field that it came from. */
export interface SourcedItem {
  item: InputItem;
  origin: string;
}

/** What one caller may see of a store; null where nothing is stored. */
export type OwnStore =
  | {
      [Method in 'get' | 'item']: (id: string) => ReturnType<ResponseStore[Method]>;
    }
  | null;

export interface ResolvedInput {
  items: readonly SourcedItem[];
  /** Those of the request alone, to be stored. */
  own: readonly StoredItem[];
}

/** How many responses may lead to one. */
const MAX_CHAIN = 1000;
/** How long the items of all of them may be as JSON together. */
const MAX_CHAIN_LENGTH = 4 * MAX_STORED_INPUT;

/** Throws `response_not_found`, and `unsupported_parameter` where nothing is stored. */
export function resolveInput(request: ResponsesRequest, store: OwnStore): ResolvedInput {
  const sent: SourcedItem[] = toItems(request).map((item, index) => ({ item, origin: originOf(request, index) }));
  const found = sent.map((each) => ({ ...each, item: follow(each, store) }));
  const earlier = request.previous_response_id === undefined ? [] : earlierItems(request.previous_response_id, store);
  return { items: [...earlier, ...found], own: found.map(({ item }) => withId(item)) };
}

function toItems({ input }: ResponsesRequest): readonly InputItem[] {
  if (typeof input !== 'string') return input;
  return [{ type: 'message', role: 'user', content: input }];
}

function originOf({ input }: ResponsesRequest, index: number): string {
  return typeof input === 'string' ? 'input' : `input[${index}]`;
}

function follow({ item, origin }: SourcedItem, store: OwnStore): InputItem {
  if (item.type !== 'item_reference') return item;
  const param = `${origin}.id`;
  if (store === null) throw nothingStored(param);
  const found = store.item(item.id);
  if (found === null) throw notFound('item', item.id, param);
  // What a completion consists of can be sent back as it is.
  return found as InputItem;
}

function earlierItems(last: string, store: OwnStore): SourcedItem[] {
  const origin = 'previous_response_id';
  if (store === null) throw nothingStored(origin);
  const chain = chainOf(last, store);
  return chain.flatMap(({ input, response }) =>
    [...input, ...(response.output as InputItem[])].map((item) => ({ item, origin })),
  );
}

/** The responses that lead to this one, and it; the first one first. */
export function chainOf(last: string, store: NonNullable<OwnStore>): StoredResponse[] {
  const chain: StoredResponse[] = [];
  let length = 0;
  for (let id: string | null = last; id !== null; ) {
    const stored: StoredResponse | null = store.get(id);
    if (stored === null) throw notFound('response', id, 'previous_response_id');
    refuseUnfinished(stored);
    length += JSON.stringify(stored.input).length + JSON.stringify(stored.response.output).length;
    chain.unshift(stored);
    if (chain.length > MAX_CHAIN || length > MAX_CHAIN_LENGTH) throw tooLong(last);
    id = stored.response.previous_response_id;
  }
  return chain;
}

function refuseUnfinished({ response: { id, status } }: StoredResponse): void {
  if (status !== 'queued' && status !== 'in_progress') return;
  throw new ChasquiError(
    'invalid_value',
    `The response \`${id}\` is still being computed: wait for its end before going on from it.`,
    'previous_response_id',
  );
}

function tooLong(id: string): ChasquiError {
  return new ChasquiError(
    'invalid_value',
    `What leads to the response \`${id.slice(0, 100)}\` is longer than this server takes: begin anew, with what is still needed in \`input\`.`,
    'previous_response_id',
  );
}

const PREFIXES: Readonly<Record<string, string>> = { message: 'msg_', reasoning: 'rs_', function_call: 'fc_' };

/** The item as it is stored: with an id, and a message's text as a part. */
function withId(item: InputItem): StoredItem {
  const { id } = item as { id?: string | null };
  const own = typeof id === 'string' && id !== '' ? id : newId(PREFIXES[item.type] ?? 'item_');
  if (item.type !== 'message' || typeof item.content !== 'string') return { ...item, id: own };
  const type = item.role === 'assistant' ? 'output_text' : 'input_text';
  return { ...item, id: own, content: [{ type, text: item.content }] } as StoredItem;
}

export function notFound(what: 'item' | 'response', id: string, param: string | null): ChasquiError {
  return new ChasquiError(
    'response_not_found',
    `There is no ${what} \`${id.slice(0, 100)}\` here: it was never stored, has been deleted or dropped, or belongs to another key.`,
    param,
  );
}

export function nothingStored(param: string | null): ChasquiError {
  return new ChasquiError(
    'unsupported_parameter',
    `${param === null ? 'Responses' : `\`${param}\``} cannot be looked up: this server stores no responses. Send all earlier items in \`input\`.`,
    param,
  );
}
