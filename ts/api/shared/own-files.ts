/** The uploaded files of one owner. */
import { randomBytes } from 'node:crypto';
import { ChasquiError, unsupportedParameter } from '../../errors.js';
import type { AppContext } from '../context.js';
import type { FileObject } from './file-schema.js';
import { type Caller, ownerOf } from './owner.js';

const FILE_PREFIX = 'file-';
const DATA_PREFIX = 'data-';

export class OwnFiles {
  readonly #store: AppContext['responses'];
  readonly #owner: string;

  constructor(request: Caller, { responses, isBehindGateway }: Pick<AppContext, 'responses' | 'isBehindGateway'>) {
    const owner = ownerOf(request, isBehindGateway);
    this.#store = owner === null ? null : responses;
    this.#owner = owner ?? '';
  }

  /** Throws `unsupported_parameter` if nothing is stored, and `store_failed`. */
  add(filename: string, purpose: string, bytes: Buffer): FileObject {
    if (this.#store === null) {
      throw unsupportedParameter('This server does not store files: send them in `file_data`.', 'file');
    }
    const id = `${FILE_PREFIX}${randomBytes(16).toString('hex')}`;
    const created_at = Math.floor(Date.now() / 1000);
    const file = {
      id,
      object: 'file',
      bytes: bytes.length,
      created_at,
      filename,
      purpose,
      status: 'processed',
    } as const;
    this.#store.put(this.#owner, { data: { id: DATA_PREFIX + id, base64: bytes.toString('base64') } });
    this.#store.put(this.#owner, { file });
    return file;
  }

  /** The oldest file first. */
  list(): readonly FileObject[] {
    const found = this.#store?.list(this.#owner, FILE_PREFIX) ?? [];
    return found.flatMap((stored) => ('file' in stored ? [stored.file] : [])).sort(byTime);
  }

  /** Null if there is no such file. Evicted content counts as deleted. */
  content(id: string): Buffer | null {
    const found = this.#read(id) === null ? null : this.#store?.read(this.#owner, DATA_PREFIX + id);
    return found && 'data' in found ? Buffer.from(found.data.base64, 'base64') : null;
  }

  /** Throws `response_not_found`. */
  get(id: string): FileObject {
    return this.#read(id) ?? notFound(id);
  }

  delete(id: string): void {
    this.get(id);
    this.#store?.delete(this.#owner, id);
    this.#store?.delete(this.#owner, DATA_PREFIX + id);
  }

  #read(id: string): FileObject | null {
    const found = this.#store?.read(this.#owner, id);
    return found && 'file' in found ? found.file : null;
  }
}

/** The oldest first. */
export function byTime(one: Pick<FileObject, 'created_at' | 'id'>, other: typeof one): number {
  return one.created_at - other.created_at || (one.id < other.id ? -1 : 1);
}

export function notFound(id: string): never {
  const message = `There is no file \`${id.slice(0, 100)}\`. It was never uploaded, was deleted, or belongs to another key.`;
  throw new ChasquiError('response_not_found', message, 'id');
}
