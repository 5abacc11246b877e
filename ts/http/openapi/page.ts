/** The OpenAPI document as a self-contained page without scripts. */
import { type Html, html } from '../html.js';
import type { JsonSchema } from '../schema/json-schema.js';
import type { OpenApiDocument } from './document.js';

export function toPage(document: OpenApiDocument): string {
  const { info, servers, paths } = document;
  const base = servers[0]?.url === '/' ? '' : (servers[0]?.url ?? '');
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      url: base + path,
      operation: operation as unknown as OperationObject,
    })),
  );
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${info.title}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${info.title}</h1>
${info.description.split('\n\n').map((paragraph) => html`<p>${prose(paragraph)}</p>\n`)}
<p>Version ${info.version}; for programs: <a href="${base}/openapi.json">openapi.json</a></p>
<nav><ul>
${operations.map(({ method, url, operation }) => html`<li><a href="#${operation.operationId}">${method} ${url}</a></li>\n`)}</ul></nav>
<main>
${operations.map(({ method, url, operation }) => toSection(method, url, operation, document))}</main>
</body>
</html>
`;
  return page.text;
}

const STYLE = `
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { border-top: 1px solid; padding-top: 1rem; margin-top: 3rem; font-size: 1.2rem; }
table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: .2rem 1rem .2rem 0; }
code, pre, h2 { font-family: ui-monospace, monospace; }
pre { overflow-x: auto; border: 1px solid; padding: .5rem; }
summary { cursor: pointer; margin-top: 1rem; }
`;

interface OperationObject {
  operationId: string;
  summary: string;
  description?: string;
  requestBody?: { content: { 'application/json'?: MediaType } };
  responses: Record<string, { description: string; content: Record<string, MediaType> }>;
}

interface MediaType {
  schema: JsonSchema;
  examples?: Record<string, { summary: string; value: unknown }>;
}

function toSection(method: string, url: string, operation: OperationObject, document: OpenApiDocument): Html {
  const { operationId, summary, description, requestBody, responses } = operation;
  const body = requestBody?.content['application/json'];
  const { 200: success, ...failures } = responses;
  return html`<section id="${operationId}">
<h2>${method} ${url}</h2>
<p>${prose(summary)}${prose(description ? ` ${description}` : '')}</p>
${body ? toFields(resolve(body.schema, document)) : ''}${body ? toExamples('Request', body) : ''}
${Object.entries(success?.content ?? {}).map(([type, content]) => toExamples(type, content))}
<details><summary>Failures</summary>
<table>${Object.entries(failures).map(([status, failure]) => toFailure(status, failure.description))}</table>
</details>
</section>
`;
}

function resolve(schema: JsonSchema, { components }: OpenApiDocument): JsonSchema {
  const name = String(schema.$ref).split('/').at(-1) as string;
  return components.schemas[name] ?? schema;
}

function toFields({ properties, required }: JsonSchema): Html {
  const rows = Object.entries((properties ?? {}) as Record<string, JsonSchema>).map(([name, schema]) => {
    const needed = (required as string[] | undefined)?.includes(name);
    const absent = needed ? 'required' : schema.default === undefined ? '' : JSON.stringify(schema.default);
    return html`<tr><td><code>${name}</code></td><td>${typeName(schema)}</td><td>${absent}</td><td>${prose(
      String(schema.description ?? ''),
    )}</td></tr>\n`;
  });
  return html`<table><tr><th>field</th><th>type</th><th>default</th><th></th></tr>\n${rows}</table>\n`;
}

function typeName(schema: JsonSchema): string {
  const values = schema.enum as unknown[] | undefined;
  if (values) return values.filter((value) => value !== null).join(' | ');
  const types = [schema.type ?? 'anything'].flat().filter((type) => type !== 'null');
  return types.join(' | ') + rangeOf(schema);
}

function rangeOf({ minimum, maximum, exclusiveMinimum }: JsonSchema): string {
  const bounds = [
    minimum === undefined ? '' : `≥ ${minimum}`,
    exclusiveMinimum === undefined ? '' : `> ${exclusiveMinimum}`,
    maximum === undefined ? '' : `≤ ${maximum}`,
  ].filter((bound) => bound !== '');
  return bounds.length === 0 ? '' : ` (${bounds.join(', ')})`;
}

function toExamples(title: string, { examples }: MediaType): Html {
  const shown = Object.values(examples ?? {}).map(
    ({ summary, value }) =>
      html`<details><summary>${title}: ${summary}</summary><pre>${JSON.stringify(value, null, 2)}</pre></details>\n`,
  );
  return html`${shown}`;
}

function toFailure(status: string, description: string): Html {
  const meanings = description.split('\n\n').map((meaning) => html`<div>${prose(meaning)}</div>`);
  return html`<tr><td>${status}</td><td>${meanings}</td></tr>\n`;
}

/** Text with `code` in it. */
function prose(text: string): Html {
  const parts = text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
  return html`${parts}`;
}
