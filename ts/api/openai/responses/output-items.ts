/** Converts the parts of a completion to output items of a response. */
import type { CompletionPart } from '../../shared/completion/completion-parts.js';
import { InputReader } from '../../shared/tools/custom-tools.js';
import { clientCallPrefix, isClientTool, toClientCall } from './local-tools.js';
import type { ItemStatus, OutputItem, OutputText } from './object-schema.js';
import type { CalledTool } from './response-tools.js';

export type Content = OutputText | { type: 'reasoning_text'; text: string };

const ID_PREFIXES = {
  reasoning: 'rs_',
  text: 'msg_',
  function: 'fc_',
  custom: 'ctc_',
  mcp_call: 'mcp_',
  mcp_approval_request: 'mcpr_',
} as const;

export function idPrefixOf({ kind }: CompletionPart, tool: CalledTool): string {
  const named = kind === 'tool_call' ? tool.type : kind;
  return isClientTool(named) ? clientCallPrefix(named) : ID_PREFIXES[named];
}

export function toContent({ kind, text, logprobs }: CompletionPart): Content {
  if (kind === 'reasoning') return { type: 'reasoning_text', text };
  return { type: 'output_text', text, annotations: [], logprobs };
}

/** `tool`: the called tool. */
export function toItem(
  part: CompletionPart,
  tool: CalledTool,
  { id, status, content = [] }: { id: string; status: ItemStatus; content?: Content[] },
): OutputItem {
  switch (part.kind) {
    case 'reasoning':
      return {
        type: 'reasoning',
        id,
        status,
        summary: [],
        content: content as { type: 'reasoning_text'; text: string }[],
      };
    case 'text':
      return { type: 'message', id, status, role: 'assistant', content: content as OutputText[] };
    case 'tool_call':
      return toCall(part, tool, { id, status });
  }
}

function toCall(
  { callId: call_id, text }: CompletionPart,
  { type, name, namespace }: CalledTool,
  head: { id: string; status: ItemStatus },
): OutputItem {
  if (isClientTool(type)) return toClientCall(type, text, { ...head, call_id });
  if (type === 'mcp_call' || type === 'mcp_approval_request') {
    const { id, status } = head;
    const call = { server_label: namespace ?? '', name, arguments: text };
    if (type === 'mcp_approval_request') return { type, id, ...call };
    // The item stays open while the call runs.
    const reached = status === 'incomplete' ? status : 'in_progress';
    return { type, id, status: reached, ...call, output: null, error: null, approval_request_id: null };
  }
  const called = { ...head, call_id, name, ...(namespace !== null && { namespace }) };
  if (type === 'function') return { type: 'function_call', ...called, arguments: text };
  return { type: 'custom_tool_call', ...called, input: text === '' ? '' : InputReader.whole(text) };
}
