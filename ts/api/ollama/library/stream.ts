/** Converts the progress of a download to the lines of Ollama's protocol. */

import type { PulledFile, PullProgress } from '../../shared/model-library.js';
import type { OllamaPullReply } from '../schema.js';

const SHOWN_DIGITS = 12;

export class PullLines {
  /** Of each file, the bytes that were told of last. */
  readonly #told = new Map<number, number>();
  #isVerifying = false;

  begin(): OllamaPullReply[] {
    return [{ status: 'pulling manifest' }];
  }

  /** One line per file that has grown since the last call. */
  next({ files, isVerifying }: PullProgress): OllamaPullReply[] {
    const lines = files.flatMap((file, index) => {
      if (this.#told.get(index) === file.completedBytes) return [];
      this.#told.set(index, file.completedBytes);
      return [lineOf(file)];
    });
    if (isVerifying && !this.#isVerifying) lines.push({ status: 'verifying sha256 digest' });
    this.#isVerifying = isVerifying;
    return lines;
  }

  end(): OllamaPullReply[] {
    return [{ status: 'writing manifest' }, { status: 'success' }];
  }
}

function lineOf({ digest, totalBytes, completedBytes }: PulledFile): OllamaPullReply {
  return {
    status: `pulling ${digest.slice(0, SHOWN_DIGITS)}`,
    digest: `sha256:${digest}`,
    total: totalBytes,
    completed: completedBytes,
  };
}
