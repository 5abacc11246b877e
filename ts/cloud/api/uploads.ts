/** Models that are sent by those who deploy from another machine, kept by their digests. */
import { createHash, randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ChasquiError } from '../../errors.js';
import { isFullDisk } from '../apps/old-weights.js';

export class ModelUploads {
  constructor(private readonly folder: string) {}

  /** The path of a model that has been sent before; null: it has not. */
  find(sha256: string): string | null {
    const file = this.#fileOf(sha256);
    return fs.existsSync(file) ? file : null;
  }

  /** Returns the path. What does not have the digest is not kept. */
  async receive(sha256: string, body: Readable): Promise<string> {
    const file = this.#fileOf(sha256);
    fs.mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const part = `${file}.${randomUUID()}.part`;
    const hash = createHash('sha256');
    const hashed = async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        yield chunk;
      }
    };
    try {
      await pipeline(body, hashed, fs.createWriteStream(part, { mode: 0o600 }));
      if (hash.digest('hex') !== sha256) {
        throw new ChasquiError('invalid_value', 'The body does not have the digest that its path names.', 'sha256');
      }
      fs.renameSync(part, file);
      return file;
    } catch (error) {
      if (!isFullDisk(error)) throw error;
      throw new ChasquiError('no_space', 'The disk of the cloud is full: the model could not be received.');
    } finally {
      fs.rmSync(part, { force: true });
    }
  }

  #fileOf(sha256: string): string {
    if (/^[0-9a-f]{64}$/.test(sha256)) return path.join(this.folder, `${sha256}.gguf`);
    throw new ChasquiError('invalid_value', '`sha256` must be 64 hexadecimal digits.', 'sha256');
  }
}
