/** The reply of `GET /tools`, in llama-server's form. */
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
    definition: s.objectOf({
      type: s.exactly('function'),
      function: s.objectOf({ name: s.string, description: s.string, parameters: jsonSchema }),
    }),
  }),
);

export type ServerTools = s.Static<typeof serverToolsSchema>;
