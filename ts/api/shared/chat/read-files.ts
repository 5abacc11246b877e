/**
 * Converts the files of a conversation to text parts at the same places. Unreadable files become a note for the model.
 */
import { fileText } from '../../../documents/file-text.js';
import type { AbortOptions } from '../../../engine/engine.js';
import { ChasquiError, invalidValue } from '../../../errors.js';
import { fetchImage, parseAddress } from '../../../images/fetch-image.js';
import { ImageError } from '../../../images/image-error.js';
import type { LoadImagesOptions } from '../../../images/load-images.js';
import { LoadingRoom } from '../../../images/loading-room.js';
import type { ChatCompletionRequest } from './chat-schema.js';
import type { FilePart, Message, MessagePart, TextPart } from './message-schema.js';

const MIB = 2 ** 20;
const MAX_FILE_BYTES = 20 * MIB;
/** Limits of all files of a request together: bytes, and UTF-16 units of text. */
const MAX_BYTES = 64 * MIB;
const MAX_CHARACTERS = 4 * MIB;
/** Maximum number of downloads of a request. They run one after another. */
const MAX_DOWNLOADS = 20;
/** Longest part of an address or a name in the text for the model. */
const MAX_NAME = 2048;

export interface ReadFiles {
  body: ChatCompletionRequest;
  /** Paths of the files that were not read completely. */
  unread: string[];
}

/** Files are downloaded under the rules and limits of images. Without `hosts`, downloads are disabled. */
export interface ReadFilesOptions extends AbortOptions, Partial<LoadImagesOptions> {
  /** Returns the content of an uploaded file, or null if there is none. Default: no uploaded files. */
  contentOf?: (id: string) => Buffer | null;
}

/** Rejects with `invalid_value` and `request_too_large` for a file, and with the signal's reason. */
export async function readFiles(body: ChatCompletionRequest, options: ReadFilesOptions = {}): Promise<ReadFiles> {
  const reader = new FileReader(options);
  if (!body.messages.some(hasFile)) return { body, unread: [] };
  const messages: Message[] = [];
  for (const [index, message] of body.messages.entries()) {
    messages.push(hasFile(message) ? await reader.readMessage(message, `messages[${index}].content`) : message);
  }
  return { body: { ...body, messages }, unread: reader.unread };
}

function hasFile({ content }: Message): boolean {
  return Array.isArray(content) && content.some(isFile);
}

export function isFile(part: MessagePart): part is FilePart {
  return part.type === 'file';
}

class FileReader {
  readonly unread: string[] = [];
  #bytes = 0;
  #characters = 0;
  #downloads = 0;

  constructor(private readonly options: ReadFilesOptions) {}

  async readMessage(message: Message, path: string): Promise<Message> {
    const parts: MessagePart[] = [];
    for (const [index, part] of (message.content as MessagePart[]).entries()) {
      parts.push(isFile(part) ? await this.#read(part, `${path}[${index}]`) : part);
    }
    return { ...message, content: parts } as Message;
  }

  async #read({ file }: FilePart, path: string): Promise<TextPart> {
    const { filename: title, context } = file;
    const text = await this.#textOf(file, path);
    return { type: 'text', text: inTags('document', { title, context }, text) };
  }

  async #textOf({ file_data: data, file_url: url, file_id: id }: FilePart['file'], path: string): Promise<string> {
    if (data == null && url != null) return this.#textAt(url, path);
    const { contentOf = () => null } = this.options;
    const bytes = data == null ? contentOf(id ?? '') : this.#decode(data, `${path}.file.file_data`);
    if (bytes !== null) return this.#textIn(bytes, path);
    this.unread.push(path);
    return `[The document ${(id ?? '').slice(0, MAX_NAME)} is not stored here.]`;
  }

  async #textAt(url: string, path: string): Promise<string> {
    const { hosts, signal: outer, room = LoadingRoom.ofAll } = this.options;
    this.#downloads += 1;
    try {
      if (hosts !== undefined && this.#downloads <= MAX_DOWNLOADS) {
        return await room.enter(outer, async (loading) => {
          const { signal } = loading;
          const onBytes = (count: number) => room.hold(loading, count);
          const load = () => fetchImage(parseAddress(url), { ...this.options, hosts, signal, onBytes, accept: '*/*' });
          return this.#textIn(await room.download(loading, load), path);
        });
      }
    } catch (error) {
      if (!(error instanceof ImageError)) throw error;
    }
    this.unread.push(path);
    return `[This document could not be downloaded from ${url.slice(0, MAX_NAME)}.]`;
  }

  async #textIn(bytes: Uint8Array, path: string): Promise<string> {
    this.#count(bytes.length, `${path}.file`);
    const found = await fileText(bytes, MAX_CHARACTERS - this.#characters, this.options.signal);
    this.#characters += found?.text.length ?? 0;
    const isRead = found?.isWhole && found.text.trim() !== '';
    if (!isRead) this.unread.push(path);
    if (found === null)
      return '[This document cannot be read here. It is neither text nor a readable PDF or Word file.]';
    if (!found.isWhole) return `${found.text}\n[The rest of this document was omitted.]`;
    return isRead ? found.text : '[This document has no text. It may consist of images.]';
  }

  #decode(data: string, param: string): Buffer {
    const base64 = data.replace(/^data:[^,\s]{0,200};base64,/i, '');
    if ((base64.length * 3) / 4 - 2 > MAX_FILE_BYTES) throw tooLarge(param);
    if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) {
      throw invalidValue(`\`${param}\` must be the base64 of a file, or a base64 data URI.`, param);
    }
    return Buffer.from(base64, 'base64');
  }

  #count(bytes: number, param: string): void {
    this.#bytes += bytes;
    if (this.#bytes > MAX_BYTES) throw tooLarge(param);
  }
}

function tooLarge(param: string): ChasquiError {
  const limits = `${MAX_FILE_BYTES / MIB} MiB for a file and ${MAX_BYTES / MIB} MiB for all files of a request`;
  return new ChasquiError('request_too_large', `\`${param}\` exceeds the limits: ${limits}.`, param);
}

type TagNames = Record<string, string | null | undefined>;

/** Tags mark documents, as models expect. */
export function openTag(tag: string, names: TagNames): string {
  const attributes = Object.entries(names).map(([name, value]) => (value ? ` ${name}=${JSON.stringify(value)}` : ''));
  return `<${tag}${escapeClosing(tag, attributes.join(''))}>`;
}

/** Escapes closing tags in the text: it could otherwise continue as if it were the user's message. */
export function escapeClosing(tag: string, text: string): string {
  return text.replace(new RegExp(`<(?=\\s*/\\s*${tag}\\b)`, 'gi'), '&lt;');
}

export function inTags(tag: string, names: TagNames, text: string): string {
  return `${openTag(tag, names)}\n${escapeClosing(tag, text)}\n</${tag}>`;
}
