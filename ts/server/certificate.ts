/** A TLS certificate and its key: two files, which are read again when they change. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { ChasquiError, invalidOptions } from '../errors.js';

export interface CertificateContents {
  cert: Buffer;
  key: Buffer;
}

/** Polling, because `fs.watch` misses changes behind symbolic links, which ACME clients use. */
const LOOK_MS = 5000;

export class Certificate {
  readonly #lookMs: number;

  constructor(
    private readonly certFile: string,
    private readonly keyFile: string,
    lookMs = LOOK_MS,
  ) {
    this.#lookMs = lookMs;
  }

  /** @throws {ChasquiError} `invalid_options` if a file cannot be read, or key and certificate do not match. */
  read(): CertificateContents {
    const contents = { cert: readPart(this.certFile, 'tlsCert'), key: readPart(this.keyFile, 'tlsKey') };
    let fits = false;
    try {
      fits = new X509Certificate(contents.cert).checkPrivateKey(createPrivateKey(contents.key));
    } catch (error) {
      throw problem(
        'tlsCert',
        `\`tlsCert\` and \`tlsKey\` are no certificate with its key: ${(error as Error).message}.`,
      );
    }
    if (!fits) throw problem('tlsCert', '`tlsCert` and `tlsKey` do not belong together.');
    return contents;
  }

  /**
   * Calls back with new contents. While only one of the files has changed they do not match, and the old ones stay in use.
   * Returns a function that stops watching.
   */
  watch(onChange: (contents: CertificateContents) => void): () => void {
    const look = (): void => {
      try {
        onChange(this.read());
      } catch (error) {
        if (!(error instanceof ChasquiError)) throw error;
      }
    };
    const files = [this.certFile, this.keyFile];
    for (const file of files) watchFile(file, { interval: this.#lookMs, persistent: false }, look);
    return () => {
      for (const file of files) unwatchFile(file, look);
    };
  }
}

function readPart(file: string, option: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw problem(option, `\`${option}\` cannot be read: ${(error as Error).message}.`);
  }
}

function problem(option: string, message: string): ChasquiError {
  const error = invalidOptions(message);
  error.option = option;
  return error;
}
