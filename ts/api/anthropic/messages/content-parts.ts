/** Anthropic's content blocks → the parts of a chat message, which are texts and images. */
import type { SourcedPart } from '../../shared/chat/chat-message-builder.js';
import type { DocumentBlock, ImageBlock, SearchResultBlock, ShownBlock, TextBlock } from './schema.js';

/** As much of a document's address as the model is told. */
const MAX_ADDRESS_LENGTH = 2048;

/** `origin` is the path of the block in the request. */
export function toParts(block: ShownBlock, origin: string): SourcedPart[] {
  switch (block.type) {
    case 'text':
    case 'image':
      return [toPart(block, origin)];
    case 'document':
      return documentParts(block, origin);
    case 'search_result':
      return [textPart(describeResult(block), origin)];
    case 'tool_reference':
      return [textPart(`The tool \`${block.tool_name}\` can be called.`, origin)];
  }
}

export function textPart(text: string, origin: string): SourcedPart {
  return { part: { type: 'text', text }, origin };
}

function toPart(block: TextBlock | ImageBlock, origin: string): SourcedPart {
  if (block.type === 'text') return textPart(block.text, origin);
  const { source } = block;
  const url = source.type === 'url' ? source.url : `data:${source.media_type};base64,${source.data}`;
  return { part: { type: 'image_url', image_url: { url } }, origin, imageOrigin: `${origin}.source` };
}

/** Between tags, which is how models are used to read documents. Texts that follow one another are joined by lines. */
function documentParts({ source, title, context }: DocumentBlock, origin: string): SourcedPart[] {
  const inner =
    source.type === 'content' && typeof source.content !== 'string'
      ? source.content.map((block, index) => toPart(block, `${origin}.source.content[${index}]`))
      : [textPart(readDocument(source), origin)];
  return [textPart(openTag('document', { title, context }), origin), ...inner, textPart('</document>', origin)];
}

/** The text of a document, or a note for the model that it has none that can be read here. */
function readDocument(source: DocumentBlock['source']): string {
  switch (source.type) {
    case 'text':
      return source.data;
    case 'content':
      return String(source.content);
    case 'base64':
      if (/^text\//i.test(source.media_type)) return Buffer.from(source.data, 'base64').toString();
      return `[This document is of the type ${source.media_type.slice(0, 80)}, which cannot be read here.]`;
    case 'url':
      return `[This document is at ${source.url.slice(0, MAX_ADDRESS_LENGTH)} and cannot be read from there.]`;
    case 'file':
      return '[This document was uploaded elsewhere and cannot be read here.]';
  }
}

function describeResult({ title, source, content }: SearchResultBlock): string {
  return [openTag('search_result', { title, source }), ...content.map(({ text }) => text), '</search_result>'].join(
    '\n',
  );
}

function openTag(tag: string, names: Record<string, string | null | undefined>): string {
  const attributes = Object.entries(names).map(([name, value]) => (value ? ` ${name}=${JSON.stringify(value)}` : ''));
  return `<${tag}${attributes.join('')}>`;
}
