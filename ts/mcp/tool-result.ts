/** The result of a call as text for the model. */
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';

/** The result of a call. The model is given errors, too. */
export type McpResult = { output: string; error: null } | { output: null; error: string };

/** In UTF-16 units. A longer one fits into no context. */
const MAX_LENGTH = 2 ** 20;

export function toResult({ content = [], structuredContent, isError = false }: CallToolResult): McpResult {
  const texts = content.map(toText);
  if (texts.length === 0 && structuredContent !== undefined) texts.push(JSON.stringify(structuredContent));
  const text = texts.join('\n');
  if (text.length > MAX_LENGTH) {
    const error = `The result has ${text.length} characters, more than the limit of ${MAX_LENGTH}.`;
    return { output: null, error };
  }
  if (isError) return { output: null, error: text === '' ? 'The tool failed without a message.' : text };
  return { output: text, error: null };
}

function toText(part: ContentBlock): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'resource':
      return 'text' in part.resource ? part.resource.text : `[resource ${part.resource.uri}]`;
    case 'resource_link':
      return `[resource ${part.uri}]`;
    default:
      return `[${part.type} of type ${part.mimeType}]`;
  }
}
