/** Builds the OpenAPI 3.1 document of an application from its routes. */
import type { Profile } from '../../profiles/profile.js';
import { IGNORED_HEADER } from '../read-fields.js';
import type { JsonSchema } from '../schema/json-schema.js';
import type { Endpoint } from './collect-endpoints.js';
import { failuresOf } from './failures.js';
import { type Example, type NamedSchema, requestNameOf, TAGS } from './operation.js';
import { type DefaultOf, describeBody } from './request-body.js';

export interface DocumentSettings {
  profile: Profile;
  basePath: string;
  /** The model that examples name. */
  model: string;
  version: string;
  defaultOf: DefaultOf;
  /** The body of a 404 for a path that is not served. */
  unknownPath: JsonSchema;
}

export interface OpenApiDocument {
  openapi: '3.1.1';
  info: { title: string; version: string; description: string };
  servers: { url: string }[];
  tags: { name: string }[];
  paths: Record<string, Record<string, JsonSchema>>;
  components: { schemas: Record<string, JsonSchema>; securitySchemes?: JsonSchema };
  security?: JsonSchema[];
}

const TITLES: Record<Profile['mode'], string> = {
  runtime: 'chasqui, runtime mode',
  desktop: 'chasqui, desktop mode',
  serverless: 'chasqui, serverless mode',
};

const DESCRIPTION = `Chat completions and more from a local model, in OpenAI's words.

A field that is \`null\` counts as absent. A field that is not listed is ignored, and the reply names it in the header
\`${IGNORED_HEADER}\`. Every failure has the same envelope, in a stream as its last event. A path that is not served is a 404 with the body
\`UnknownPath\`, which has Anthropic's envelope if the request has the header \`anthropic-version\`.`;

export function toDocument(endpoints: readonly Endpoint[], settings: DocumentSettings): OpenApiDocument {
  const { profile, basePath, version } = settings;
  const schemas: Record<string, JsonSchema> = { UnknownPath: settings.unknownPath };
  const paths: OpenApiDocument['paths'] = {};
  const sorted = TAGS.flatMap((tag) => endpoints.filter(({ operation }) => operation.tag === tag));
  for (const endpoint of sorted) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method]: toOperation(endpoint, settings, schemas) };
  }
  const tags = [...new Set(sorted.map(({ operation }) => operation.tag))];
  return {
    openapi: '3.1.1',
    info: { title: TITLES[profile.mode], version, description: DESCRIPTION },
    servers: [{ url: basePath === '' ? '/' : basePath }],
    tags: tags.map((name) => ({ name })),
    paths,
    components: { schemas, ...securitySchemes(profile) },
    ...securityOf(profile),
  };
}

/** One of the schemes is enough. */
function securityOf({ authentication }: Profile): { security?: JsonSchema[] } {
  if (authentication === 'none') return {};
  return { security: authentication === 'key' ? [{ key: [] }] : [{ bearer: [] }, { apiKey: [] }] };
}

function securitySchemes({ authentication }: Profile): object {
  if (authentication === 'none') return {};
  if (authentication === 'bearer') {
    const bearer = { type: 'http', scheme: 'bearer', description: "One of the server's keys." };
    return { securitySchemes: { bearer, apiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key' } } };
  }
  const description = '`Key <id>:<secret>`, with one space. Public deployments need none.';
  return { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'Authorization', description } } };
}

function toOperation(
  { path, body, operation }: Endpoint,
  { profile, model, defaultOf }: DocumentSettings,
  schemas: Record<string, JsonSchema>,
): JsonSchema {
  const { id, tag, summary, description, parameters = {}, reply, form } = operation;
  const name = (named: NamedSchema): JsonSchema => {
    schemas[named.name] = named.schema;
    return { $ref: `#/components/schemas/${named.name}` };
  };
  const examples = operation.examples?.(model) ?? {};
  const request = body && name({ name: requestNameOf(operation), schema: describeBody(body, defaultOf) });
  const content = {
    ...(reply.json && { 'application/json': { schema: name(reply.json), ...replies(examples, false) } }),
    ...(reply.line && { 'application/x-ndjson': { schema: name(reply.line), ...replies(examples, true) } }),
    ...(reply.event && { 'text/event-stream': { schema: name(reply.event), ...replies(examples, true) } }),
    ...(reply.text && { [reply.text]: { schema: { type: 'string' } } }),
  };
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description && { description }),
    ...(path.includes('{') && { parameters: toParameters(parameters, model) }),
    ...(request && { requestBody: toRequestBody(request, examples) }),
    ...(form && { requestBody: { required: true, content: { 'multipart/form-data': { schema: form } } } }),
    responses: {
      [reply.status ?? 200]: { description: summary, headers: headersOf(body !== undefined), content },
      ...failuresOf(operation, profile, body !== undefined || form !== undefined),
    },
  };
}

function toParameters(parameters: Readonly<Record<string, string>>, model: string): JsonSchema[] {
  return Object.entries(parameters).map(([name, description]) => ({
    name,
    in: 'path',
    required: true,
    description,
    schema: { type: 'string' },
    ...(name === 'id' && { example: model }),
  }));
}

function toRequestBody(schema: JsonSchema, examples: Record<string, Example>): JsonSchema {
  const sent = Object.entries(examples).map(([key, { summary, request }]) => [key, { summary, value: request }]);
  return { required: true, content: { 'application/json': { schema, examples: Object.fromEntries(sent) } } };
}

function isStreamed(request: Example['request']): boolean {
  return request !== undefined && 'stream' in request && request.stream === true;
}

/** The replies of the streamed examples, or of the others. For a stream one event is shown. */
function replies(examples: Record<string, Example>, streamed: boolean): { examples?: object } {
  const shown = Object.entries(examples).filter(
    ([, { request, reply }]) => reply !== undefined && isStreamed(request) === streamed,
  );
  if (shown.length === 0) return {};
  return {
    examples: Object.fromEntries(shown.map(([key, { summary, reply }]) => [key, { summary, value: reply }])),
  };
}

function headersOf(hasBody: boolean): JsonSchema {
  const text = { type: 'string' };
  return {
    'x-request-id': { description: "This request, in the server's log.", schema: text },
    ...(hasBody && { [IGNORED_HEADER]: { description: 'Fields that were ignored.', schema: text } }),
  };
}
