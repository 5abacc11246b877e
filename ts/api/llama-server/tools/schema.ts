/** `/tools`, in the form of llama-server. */
import * as s from '../../../http/schema/json-schema.js';
import { jsonSchema } from '../../../http/schema/variants.js';

export const serverToolsSchema = s.arrayOf(
  s.objectOf({
    display_name: s.string,
    /** The name under which the model calls it. */
    tool: s.string,
    type: s.exactly('mcp'),
    /** In tools of requests. */
    server_label: s.string,
    /** `write` is false if the server declares that the tool only reads. */
    permissions: s.objectOf({ write: s.boolean }),
    /** No tool takes the working folder of the header `x-tool-cwd`. */
    uses_cwd: s.exactly(false),
    definition: s.objectOf({
      type: s.exactly('function'),
      function: s.objectOf({ name: s.string, description: s.string, parameters: jsonSchema }),
    }),
  }),
);

export const serverToolCallSchema = s.objectOf(
  { tool: s.field('The `tool` of a tool in `GET /tools`.', s.string) },
  {
    params: s.field('The arguments. Default: none.', s.anyObject),
    stream: s.field('Must be false: results of MCP servers are whole.', s.boolean),
  },
);

export const serverToolResultSchema = s.anyOf(
  s.objectOf({ plain_text_response: s.string }),
  s.objectOf({ error: s.string }),
);

export type ServerTools = s.Static<typeof serverToolsSchema>;
export type ServerToolCall = s.Static<typeof serverToolCallSchema>;
export type ServerToolResult = s.Static<typeof serverToolResultSchema>;
