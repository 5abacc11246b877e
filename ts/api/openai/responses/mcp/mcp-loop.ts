/** Alternates completions and their calls of MCP servers until a completion calls nothing. */
import { randomBytes } from 'node:crypto';
import type { SseEvent } from '../../../../http/sse.js';
import type { McpTool } from '../../../../mcp/mcp-server.js';
import type { CompletionProtocol } from '../../../shared/completion/completion-event-encoder.js';
import { forEachChoice } from '../../../shared/completion/stream-reply.js';
import { McpCalls } from '../../../shared/mcp/mcp-calls.js';
import type { McpEntry } from '../../../shared/mcp/mcp-entries.js';
import type { McpOffer } from '../../../shared/mcp/mcp-offer.js';
import type { Leased } from '../../../shared/with-model.js';
import type { OutputItem } from '../object-schema.js';
import type { ResponseEvents } from '../response-events.js';
import { ResponseEncoder } from '../stream.js';
import type { ResponseWork } from '../to-job.js';
import { approvedCalls } from './approvals.js';
import type { McpCallItem, McpListItem } from './mcp-schema.js';

/** Sends events. The loop waits for the promise of a slow client. */
type Emit = (events: readonly SseEvent[]) => void | Promise<void>;

/** Rejects with the failure of a completion; failed calls are results for the model. */
export function runMcpLoop(
  work: ResponseWork & { offer: McpOffer },
  events: ResponseEvents,
  leased: Leased,
  emit: Emit,
): Promise<void> {
  return new McpLoop(work, events, leased, emit).run();
}

class McpLoop {
  readonly #calls: McpCalls;

  constructor(
    private readonly work: ResponseWork & { offer: McpOffer },
    private readonly events: ResponseEvents,
    private readonly leased: Leased,
    private readonly emit: Emit,
  ) {
    this.#calls = new McpCalls(work.offer, leased.signal, work.request.body.max_tool_calls);
  }

  async run(): Promise<void> {
    const { work, events, emit } = this;
    await emit(events.begin());
    await Promise.all(work.offer.entries.map((entry) => this.#listTools(entry)));
    const approved = approvedCalls(work.items, work.offer).map(({ id, server_label, name, arguments: json }) =>
      newCall({ server_label, name, arguments: json, approval_request_id: id }),
    );
    for (const call of approved) await emit(announceCall(events, call));
    await this.#runCalls(approved);
    for (let choice: 'asked' | 'auto' | 'none' = 'asked'; ; choice = this.#calls.isOpen ? 'auto' : 'none') {
      work.continueWith(events.response.output, choice);
      const { items, encoder } = await this.#complete();
      const calls = items.filter((item) => item.type === 'mcp_call' && item.status === 'in_progress');
      await this.#runCalls(calls as McpCallItem[]);
      const waitsForClient = items.some(({ type }) => !['message', 'reasoning', 'mcp_call'].includes(type));
      // A model may call tools although it must not.
      const isLast = calls.length === 0 || choice === 'none' || encoder.finish.reason === 'length';
      if (isLast || waitsForClient) {
        return emit(events.complete(encoder.finish));
      }
    }
  }

  async #complete(): Promise<{ items: readonly OutputItem[]; encoder: ResponseEncoder }> {
    const { work, events, leased, emit } = this;
    const first = events.response.output.length;
    const { streams, parsed } = await work.start(leased);
    const encoder = new ResponseEncoder(asTurn(events), parsed, streams, work.request.body);
    await forEachChoice(streams, (batch) => emit(encoder.encode(batch)));
    await emit(encoder.end());
    return { items: events.response.output.slice(first), encoder };
  }

  /** The conversation has one list of each server. */
  async #listTools(entry: McpEntry): Promise<void> {
    const { work, events, emit } = this;
    const { label } = entry.server;
    const isListed = work.items.some(({ item }) => item.type === 'mcp_list_tools' && labelOf(item) === label);
    const list: McpListItem = {
      type: 'mcp_list_tools',
      id: `mcpl_${randomBytes(16).toString('hex')}`,
      server_label: label,
      tools: [],
      error: null,
    };
    if (!isListed) await emit([events.addItem(list), events.ofItem('response.mcp_list_tools.in_progress', list)]);
    const { tools, error } = await work.offer.list(entry, this.leased.signal);
    // A failure is told even if an earlier response has the list.
    if (isListed && error === null) return;
    if (isListed) await emit([events.addItem(list)]);
    const outcome = error === null ? 'completed' : 'failed';
    await emit([
      events.ofItem(`response.mcp_list_tools.${outcome}`, list),
      events.closeItem({ ...list, tools: tools.map(toShownTool), error }),
    ]);
  }

  async #runCalls(calls: readonly McpCallItem[]): Promise<void> {
    await Promise.all(
      calls.map(async (call) => {
        const { server_label: label, name, arguments: json } = call;
        const result = await this.#calls.run(this.work.offer.find(label, name), json);
        const status = result.error === null ? 'completed' : 'failed';
        const { events } = this;
        const done = { ...call, ...result, status } as const;
        await this.emit([events.ofItem(`response.mcp_call.${status}`, call), events.closeItem(done)]);
      }),
    );
  }
}

function toShownTool({ inputSchema: input_schema, ...tool }: McpTool): McpListItem['tools'][number] {
  return { ...tool, input_schema };
}

function labelOf(item: object): unknown {
  return (item as { server_label?: unknown }).server_label;
}

function newCall(call: Pick<McpCallItem, 'server_label' | 'name' | 'arguments' | 'approval_request_id'>): McpCallItem {
  return {
    type: 'mcp_call',
    id: `mcp_${randomBytes(16).toString('hex')}`,
    status: 'in_progress',
    ...call,
    output: null,
    error: null,
  };
}

function announceCall(events: ResponseEvents, call: McpCallItem): SseEvent[] {
  return [
    events.addItem(call),
    events.ofItem('response.mcp_call.in_progress', call),
    events.ofItem('response.mcp_call_arguments.delta', call, { delta: call.arguments }),
    events.ofItem('response.mcp_call_arguments.done', call, { arguments: call.arguments }),
  ];
}

/** One of several completions of a response. */
function asTurn(events: ResponseEvents): CompletionProtocol & Pick<ResponseEvents, 'progress'> {
  return {
    begin: () => [],
    add: (delta) => events.add(delta),
    end: (finish, reasoningTokens) => events.endTurn(finish, reasoningTokens),
    fail: (body) => events.fail(body),
    progress: (report) => events.progress(report),
  };
}
