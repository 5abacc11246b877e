/**
 * The items of a request: those of the response or conversation that it continues, then its own, with references resolved.
 */
import { randomBytes } from 'node:crypto';
import { ChasquiError, type ErrorCode, invalidValue } from '../../../errors.js';
import type { InputItem, InputPart, StoredItem } from './input-schema.js';
import { conversationOf } from './new-response.js';
import type { ResponsesRequest } from './schema.js';
import {
  itemsOf,
  MAX_STORED_INPUT,
  type Stored,
  type StoredConversation,
  type StoredResponse,
} from './store/response-store.js';

/** An item, and the path of the field that it came from. */
export interface SourcedItem {
  item: InputItem;
  origin: string;
}

/** The part of the store that one owner can see; null if storage is disabled. */
export type OwnStore = {
  get: (id: string) => StoredResponse | null;
  conversation: (id: string) => StoredConversation | null;
  holderOf: (id: string) => string | null;
} | null;

export interface ResolvedInput {
  items: readonly SourcedItem[];
  /** The items of the request alone, for the store. */
  own: readonly StoredItem[];
}

const MAX_READ = 1000;
/** Maximum number of references in a request. */
const MAX_REFERENCES = 2000;
/** Limit of everything that is read and referenced, in UTF-16 units of JSON. */
const MAX_LENGTH = 4 * MAX_STORED_INPUT;

interface Kinds {
  response: StoredResponse;
  conversation: StoredConversation;
}

/**
 * Reads stored items for one request, each part once. A short request may refer to many items, so they are counted
 * before they are used.
 */
class StoredParts {
  readonly #read = new Map<string, Stored>();
  /** The items of each referenced response, by id. Searching for each reference would take quadratic time. */
  readonly #items = new Map<Stored, ReadonlyMap<string, InputItem>>();
  #references = 0;
  #length = 0;

  constructor(private readonly store: NonNullable<OwnStore>) {}

  response(id: string, param: string): StoredResponse {
    return this.#once('response', id, param) ?? notHere('response', id, param);
  }

  conversation(id: string, param: string): StoredConversation {
    return this.#once('conversation', id, param) ?? notHere('conversation', id, param);
  }

  item(id: string, param: string): InputItem {
    this.#references += 1;
    if (this.#references > MAX_REFERENCES) throw tooLong(param);
    const holder = this.store.holderOf(id) ?? notHere('item', id, param);
    const stored =
      this.#once('response', holder, param) ?? this.#once('conversation', holder, param) ?? notHere('item', id, param);
    const found = this.#itemsOf(stored).get(id) ?? notHere('item', id, param);
    this.#count(found, param);
    return found;
  }

  #itemsOf(stored: Stored): ReadonlyMap<string, InputItem> {
    const known = this.#items.get(stored);
    if (known !== undefined) return known;
    const items = new Map(itemsOf(stored).map((item) => [item.id, item]));
    this.#items.set(stored, items);
    return items;
  }

  #once<Kind extends keyof Kinds>(kind: Kind, id: string, param: string): Kinds[Kind] | null {
    const known = this.#read.get(id);
    if (known !== undefined) return kind in known ? (known as Kinds[Kind]) : null;
    const stored = kind === 'response' ? this.store.get(id) : this.store.conversation(id);
    if (stored === null) return null;
    this.#read.set(id, stored);
    this.#count(stored, param);
    return stored as Kinds[Kind];
  }

  #count(part: object, param: string): void {
    this.#length += JSON.stringify(part).length;
    if (this.#read.size > MAX_READ || this.#length > MAX_LENGTH) throw tooLong(param);
  }
}

/** Throws `response_not_found`, and `unsupported_parameter` if storage is disabled. */
export function resolveInput(request: ResponsesRequest, store: OwnStore): ResolvedInput {
  const sent: SourcedItem[] = toItems(request.input).map((item, index) => ({ item, origin: originOf(request, index) }));
  const parts = store === null ? null : new StoredParts(store);
  const found = sent.map((each) => ({ ...each, item: follow(each, parts) }));
  return { items: [...earlierItems(request, parts), ...found], own: found.map(({ item }) => toStoredItem(item)) };
}

/**
 * Converts the items that a client adds to a conversation to their stored form. Throws the errors of `resolveInput`.
 */
export function resolveItems(items: readonly InputItem[], store: NonNullable<OwnStore>): StoredItem[] {
  const parts = new StoredParts(store);
  return items.map((item, index) => toStoredItem(follow({ item, origin: `items[${index}]` }, parts)));
}

export function toItems(input: ResponsesRequest['input']): readonly InputItem[] {
  if (typeof input !== 'string') return input;
  return [{ type: 'message', role: 'user', content: input }];
}

function originOf({ input }: ResponsesRequest, index: number): string {
  return typeof input === 'string' ? 'input' : `input[${index}]`;
}

function follow({ item, origin }: SourcedItem, parts: StoredParts | null): InputItem {
  if (item.type !== 'item_reference') return item;
  const param = `${origin}.id`;
  if (parts === null) throw nothingStored(param);
  return parts.item(item.id, param);
}

const PREVIOUS = 'previous_response_id';

function earlierItems(request: ResponsesRequest, parts: StoredParts | null): SourcedItem[] {
  const { previous_response_id: previous } = request;
  const conversation = conversationOf(request);
  if (conversation !== null) {
    if (parts === null) throw nothingStored('conversation');
    return parts.conversation(conversation, 'conversation').items.map((item) => ({ item, origin: 'conversation' }));
  }
  if (previous === undefined) return [];
  if (parts === null) throw nothingStored(PREVIOUS, 'previous_response_not_found');
  return chainIn(parts, previous).flatMap((stored) => itemsOf(stored).map((item) => ({ item, origin: PREVIOUS })));
}

/** Returns this response and its predecessors, the first one first. */
export function chainOf(last: string, store: NonNullable<OwnStore>): StoredResponse[] {
  return chainIn(new StoredParts(store), last);
}

function chainIn(parts: StoredParts, last: string): StoredResponse[] {
  const chain: StoredResponse[] = [];
  for (let id: string | null = last; id !== null; ) {
    const stored: StoredResponse = parts.response(id, PREVIOUS);
    refuseUnfinished(stored);
    if (chain.push(stored) > MAX_READ) throw tooLong(PREVIOUS);
    id = stored.response.previous_response_id;
  }
  return chain.reverse();
}

function refuseUnfinished({ response: { id, status } }: StoredResponse): void {
  if (status !== 'queued' && status !== 'in_progress') return;
  throw invalidValue(`The response \`${id}\` is still running. Continue it after its end.`, PREVIOUS);
}

function tooLong(param: string): ChasquiError {
  return invalidValue(
    `\`${param}\` refers to too many stored items. Start a new conversation with the required items in \`input\`.`,
    param,
  );
}

function notHere(what: What, id: string, param: string): never {
  throw notFound(what, id, param);
}

type What = 'item' | 'response' | 'conversation';

const PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg_',
  reasoning: 'rs_',
  function_call: 'fc_',
  compaction: 'cmp_',
};

/** The stored form of an item: with an id, and with the fields that OpenAI's items always have. */
export function toStoredItem(item: InputItem): StoredItem {
  const { id } = item as { id?: string | null };
  const own =
    typeof id === 'string' && id !== '' ? id : `${PREFIXES[item.type] ?? 'item_'}${randomBytes(16).toString('hex')}`;
  return { ...item, id: own, ...otherFields(item) } as StoredItem;
}

function otherFields(item: InputItem): object {
  const { status = 'completed' } = item as { status?: string };
  switch (item.type) {
    case 'message': {
      const { role, content } = item;
      const type = role === 'assistant' ? 'output_text' : 'input_text';
      const parts: InputPart[] = typeof content === 'string' ? [{ type, text: content }] : content;
      return { status, content: parts.map(toStoredPart) };
    }
    case 'function_call_output':
    case 'custom_tool_call_output':
      return { status, output: typeof item.output === 'string' ? item.output : item.output.map(toStoredPart) };
    case 'compaction':
    case 'mcp_list_tools':
    case 'mcp_approval_request':
    case 'mcp_approval_response':
      return {};
    case 'reasoning':
      return { summary: (item as { summary?: unknown }).summary ?? [] };
    default:
      return { status };
  }
}

function toStoredPart(part: InputPart): object {
  if (part.type === 'output_text') return { annotations: [], logprobs: [], ...part };
  return part.type === 'input_image' ? { detail: 'auto', ...part } : part;
}

export function notFound(what: What, id: string, param: string | null): ChasquiError {
  return new ChasquiError(
    // Clients of OpenAI repeat the whole conversation after this code.
    param === PREVIOUS ? 'previous_response_not_found' : 'response_not_found',
    `There is no ${what} \`${id.slice(0, 100)}\` here. It was never stored, was deleted or evicted, or belongs to another key.`,
    param,
  );
}

export function nothingStored(param: string | null, code: ErrorCode = 'unsupported_parameter'): ChasquiError {
  return new ChasquiError(
    code,
    `${param === null ? 'Responses and conversations' : `\`${param}\``} are not stored by this server. Send all earlier items in \`input\`.`,
    param,
  );
}
