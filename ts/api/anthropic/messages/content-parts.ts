/** Converts Anthropic's content blocks to parts of a chat message: texts and images. */
import type { SourcedPart } from '../../shared/chat/chat-message-builder.js';
import { escapeClosing, inTags, openTag } from '../../shared/chat/read-files.js';
import type { DocumentBlock, ImageBlock, SearchResultBlock, ShownBlock, TextBlock } from './schema.js';

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
  if (source.type === 'file') {
    const image_url = { url: '', file_id: source.file_id };
    return { part: { type: 'image_url', image_url }, origin, imageOrigin: `${origin}.source.file_id` };
  }
  const url = source.type === 'url' ? source.url : `data:${source.media_type};base64,${source.data}`;
  return { part: { type: 'image_url', image_url: { url } }, origin, imageOrigin: `${origin}.source` };
}

/** Between tags, which is how models are used to read documents. Texts that follow one another are joined by lines. */
function documentParts({ source, title, context }: DocumentBlock, origin: string): SourcedPart[] {
  if (source.type === 'base64' || source.type === 'url' || source.type === 'file') {
    const file = { filename: title ?? null, context: context ?? null, ...toFile(source) };
    return [{ part: { type: 'file', file }, origin, dataOrigin: `${origin}.source.data` }];
  }
  const inner =
    source.type === 'content' && typeof source.content !== 'string'
      ? source.content.map((block, index) => toPart(insideDocument(block), `${origin}.source.content[${index}]`))
      : [textPart(escapeClosing('document', source.type === 'text' ? source.data : String(source.content)), origin)];
  return [textPart(openTag('document', { title, context }), origin), ...inner, textPart('</document>', origin)];
}

function insideDocument(block: TextBlock | ImageBlock): TextBlock | ImageBlock {
  return block.type === 'text' ? { ...block, text: escapeClosing('document', block.text) } : block;
}

function toFile(source: Extract<DocumentBlock['source'], { type: 'base64' | 'url' | 'file' }>) {
  switch (source.type) {
    case 'base64':
      return { file_data: source.data };
    case 'url':
      return { file_url: source.url };
    case 'file':
      return { file_id: source.file_id };
  }
}

function describeResult({ title, source, content }: SearchResultBlock): string {
  return inTags('search_result', { title, source }, content.map(({ text }) => text).join('\n'));
}
