/**
 * Threads: the server stores a conversation, so that later turns send only their new messages. Clients repeat the whole
 * conversation when a thread is not found.
 */
import { ChasquiError, invalidValue } from '../../../errors.js';
import type { AppContext } from '../../context.js';
import { type Caller, ownerOf } from '../../shared/owner.js';
import type { MessageReply } from './reply-schema.js';
import type { AnthropicMessage, MessagesRequest } from './schema.js';

/** Limits of all turns of a thread. A thread beyond them is not stored. Length as JSON, in UTF-16 units. */
const MAX_TURNS = 1000;
const MAX_LENGTH = 2 ** 25;

export interface Turn {
  /** The request, including the earlier messages and the fields of its thread. */
  body: MessagesRequest;
  /** Number of messages that the thread had before. */
  earlier: number;
  /** Stores the turn. Null if the request has no thread, or if it cannot be stored. */
  keep: ((reply: MessageReply) => void) | null;
}

/** Throws `thread_not_found`, `invalid_value` and `store_failed`. */
export function readTurn(request: Caller & { body: MessagesRequest }, context: AppContext): Turn {
  const { thread: asked, ...body } = request.body;
  if (asked === undefined) return { body, earlier: 0, keep: null };
  const owner = ownerOf(request, context.isBehindGateway);
  const store = owner === null ? null : context.responses;
  const findTurn = (id: string) => {
    const stored = store?.read(owner ?? '', id) ?? null;
    return stored !== null && 'thread' in stored ? stored : null;
  };
  const continued = asked.type === 'continue' ? asked.previous_message_id : null;
  if (continued !== null) refuseFirstFields(body);
  const { system, tools } = body;
  const fields = continued === null ? { ...(system !== undefined && { system }), ...(tools && { tools }) } : {};
  const before = continued === null ? [] : earlierTurns(continued, findTurn);
  const last = before.at(-1)?.thread;
  const turns = (last?.turns ?? 0) + 1;
  const length = (last?.length ?? 0) + JSON.stringify([fields, body.messages]).length;
  const earlier = before.flatMap(({ messages }) => messages as AnthropicMessage[]);
  const keep = ({ id, role, content }: MessageReply): void => {
    const reply = { role, content };
    const thread = { id, previous: continued, turns, length: length + JSON.stringify(reply).length, fields };
    store?.put(owner ?? '', { thread, messages: [...body.messages, reply] });
  };
  return {
    body: { ...body, ...before[0]?.thread.fields, messages: [...earlier, ...body.messages] },
    earlier: earlier.length,
    keep: store === null || turns > MAX_TURNS || length > MAX_LENGTH ? null : keep,
  };
}

type StoredTurn = Extract<ReturnType<NonNullable<AppContext['responses']>['read']>, { thread: object }>;

/** The turns up to the one of this id, the first one first. */
function earlierTurns(last: string, find: (id: string) => StoredTurn | null): StoredTurn[] {
  const found: StoredTurn[] = [];
  for (let id: string | null = last; id !== null; ) {
    const turn = find(id);
    if (turn === null) throw threadNotFound(last);
    found.push(turn);
    id = turn.thread.previous;
  }
  return found.reverse();
}

function threadNotFound(id: string): ChasquiError {
  const param = 'thread.previous_message_id';
  const message = `No thread ends with the message \`${id.slice(0, 100)}\`. Send all messages with \`"thread": {"type": "create"}\`.`;
  return new ChasquiError('thread_not_found', message, param);
}

/** The thread has them already. */
function refuseFirstFields(body: MessagesRequest): void {
  const repeated = (['system', 'tools'] as const).find((field) => body[field] !== undefined);
  if (repeated === undefined) return;
  const message = `\`${repeated}\` is set when a thread is created. Omit it, or send all messages to a new thread.`;
  throw invalidValue(message, repeated);
}
