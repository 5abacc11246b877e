/**
 * Uploaded models of remote deployments, stored by digest. If they exceed the limit, the least recently used ones that
 * no revision needs are evicted.
 */
import { createHash, randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ChasquiError, invalidValue } from '../../errors.js';
import { formatMemory } from '../../hub/format-bytes.js';
import { isFullDisk, usedAt } from '../apps/old-weights.js';
import type { Database } from '../store/database.js';

export interface UploadSettings {
  folder: string;
  /** Maximum total size; null: half of their disk. */
  limitBytes: number | null;
  senders: ModelSenders;
  /** Maximum total size of the models that an organisation has sent. */
  quotaOf(org: string): number;
  /** Paths of files that may be evicted. */
  removable(): readonly string[];
}

const GGUF = Buffer.from('GGUF');
/** Space is reserved in steps of this size if the length is unknown. */
const PART_BYTES = 64 * 2 ** 20;

interface Upload {
  sha256: string;
  /** Null: an unrestricted sender. */
  org: string | null;
  /** Null: unknown. */
  length: number | null;
}

interface Arriving {
  org: string | null;
  /** Disk space that other uploads cannot use. */
  reserved: number;
  /** Counts for the quota. */
  length: number;
}

/** Verifies an upload: a GGUF file with the expected digest. */
class ArrivingModel {
  readonly #hash = createHash('sha256');
  #start = Buffer.alloc(0);
  bytes = 0;

  constructor(private readonly sha256: string) {}

  /** @throws {ChasquiError} `invalid_value` */
  add(chunk: Buffer): void {
    const missing = GGUF.length - this.#start.length;
    if (missing > 0) this.#start = Buffer.concat([this.#start, chunk.subarray(0, missing)]);
    if (!GGUF.subarray(0, this.#start.length).equals(this.#start)) throw noGguf();
    this.bytes += chunk.length;
    this.#hash.update(chunk);
  }

  /** @throws {ChasquiError} `invalid_value` */
  end(): void {
    if (this.#start.length < GGUF.length) throw noGguf();
    if (this.#hash.digest('hex') !== this.sha256) throw otherDigest();
  }
}

/** Updates the time of use. Returns false if the file does not exist. */
function use(file: string): boolean {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  // Keep the modification time: it identifies verified files.
  if (stat !== undefined) fs.utimesSync(file, new Date(), stat.mtime);
  return stat !== undefined;
}

/**
 * Verifies an upload of a model that exists, without writing it: runners may have the file open, and a second copy
 * would take space.
 */
async function compare(file: string, model: ArrivingModel, chunks: AsyncIterable<Buffer>): Promise<void> {
  const size = sizeOf(file);
  let usedAt = 0;
  for await (const chunk of chunks) {
    model.add(chunk);
    if (model.bytes > size) throw otherDigest();
    // A slow upload must not let the model expire.
    if (model.bytes - usedAt < PART_BYTES) continue;
    use(file);
    usedAt = model.bytes;
  }
  model.end();
  if (use(file)) return;
  throw new ChasquiError('no_space', 'The model was evicted during the upload. Send it again.');
}

export class ModelUploads {
  /** Running uploads, by path. */
  readonly #arriving = new Map<string, Arriving>();

  constructor(private readonly settings: UploadSettings) {}

  /** Returns the path of a model that `org` (null: any organisation) has sent, or null. Updates its time of use. */
  find(sha256: string, org: string | null): string | null {
    const file = this.#fileOf(sha256);
    return this.isOf(file, org) && use(file) ? file : null;
  }

  /** Whether any organisation has sent a model of this size. */
  exists(sha256: string, bytes: number): boolean {
    return fs.statSync(this.#fileOf(sha256), { throwIfNoEntry: false })?.size === bytes;
  }

  /** Whether the path is a model that `org` (null: any organisation) has sent. */
  isOf(file: string, org: string | null): boolean {
    const { folder, senders } = this.settings;
    if (path.dirname(path.normalize(file)) !== folder) return false;
    return org === null || senders.has(path.basename(file, '.gguf'), org);
  }

  /** Evicts models until `bytes` fit. @throws {ChasquiError} `no_space` */
  reserveSpace(bytes: number): void {
    const limit = this.#limit();
    let missing = this.#used() + bytes - limit;
    if (missing <= 0) return;
    const removable = [...this.settings.removable()].sort((one, other) => usedAt(one) - usedAt(other));
    const all = removable.reduce((sum, file) => sum + sizeOf(file), 0);
    if (all < missing) throw this.#tooMuch(bytes, limit);
    for (const file of removable) {
      if (missing <= 0) return;
      missing -= sizeOf(file);
      fs.rmSync(file, { force: true });
    }
  }

  /**
   * Stores an upload and returns its path. Only GGUF files with the digest are kept, because other files at a known
   * path could be executed. `length`: null if unknown; `org`: null for an unrestricted sender.
   *
   * @throws {ChasquiError} `invalid_value`, `no_space`
   */
  async receive(sha256: string, org: string | null, body: Readable, length: number | null): Promise<string> {
    const file = this.#fileOf(sha256);
    // A refused body stays open: the reply uses its connection.
    const chunks = body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    this.refuseBeyondQuota(org, sha256, length ?? 0);
    if (this.find(sha256, null) === null) await this.#keep(file, { sha256, org, length }, chunks);
    else await compare(file, new ArrivingModel(sha256), chunks);
    if (org !== null) this.settings.senders.add(sha256, org, (each) => fs.existsSync(this.#fileOf(each)));
    return file;
  }

  /** @throws {ChasquiError} `deployment_refused`: `bytes` of this model exceed the quota of the organisation */
  refuseBeyondQuota(org: string | null, sha256: string, bytes: number): void {
    if (org === null) return;
    const { quotaOf, senders } = this.settings;
    const others = senders.modelsOf(org).filter((each) => each !== sha256);
    const arriving = [...this.#arriving].filter(([, { org: sender }]) => sender === org);
    const sizes = [...others.map((each) => sizeOf(this.#fileOf(each))), ...arriving.map(([, { length }]) => length)];
    const used = sizes.reduce((sum, size) => sum + size, 0);
    if (used + bytes <= quotaOf(org)) return;
    const [model, taken, quota] = [bytes, used, quotaOf(org)].map(formatMemory);
    const message = `The model of ${model} exceeds the quota of ${org} for uploads: ${taken} of ${quota} are in use.`;
    throw new ChasquiError('deployment_refused', message);
  }

  async #keep(file: string, { sha256, org, length }: Upload, chunks: AsyncIterable<Buffer>): Promise<void> {
    const model = new ArrivingModel(sha256);
    fs.mkdirSync(this.settings.folder, { recursive: true, mode: 0o700 });
    const part = `${file}.${randomUUID()}.part`;
    const arriving: Arriving = { org, reserved: 0, length: length ?? 0 };
    // In steps: a slow sender must not keep the whole length from others.
    const reserve = (): void => {
      const bytes = Math.min(PART_BYTES, (length ?? Infinity) - arriving.reserved);
      this.reserveSpace(bytes);
      arriving.reserved += bytes;
      if (length === null) this.refuseBeyondQuota(org, sha256, PART_BYTES);
      arriving.length = Math.max(arriving.length, arriving.reserved);
    };
    const checked = async function* () {
      for await (const chunk of chunks) {
        model.add(chunk);
        while (model.bytes > arriving.reserved) reserve();
        yield chunk;
      }
    };
    try {
      if (length !== null) this.reserveSpace(length);
      this.#arriving.set(part, arriving);
      reserve();
      // Open the file now: a stream would open it later, perhaps after its removal.
      const fd = fs.openSync(part, 'wx', 0o600);
      await pipeline(checked, fs.createWriteStream(part, { fd }));
      model.end();
      // Rounds its time to milliseconds, so that later calls can restore it exactly.
      use(part);
      fs.renameSync(part, file);
    } catch (error) {
      if (!isFullDisk(error) || error instanceof ChasquiError) throw error;
      throw new ChasquiError('no_space', 'The disk of the cloud is full. The upload was stopped.');
    } finally {
      this.#arriving.delete(part);
      fs.rmSync(part, { force: true });
    }
  }

  #fileOf(sha256: string): string {
    if (/^[0-9a-f]{64}$/.test(sha256)) return path.join(this.settings.folder, `${sha256}.gguf`);
    throw invalidValue('`sha256` must be 64 hexadecimal digits.', 'sha256');
  }

  #used(): number {
    const { folder } = this.settings;
    const names = fs.existsSync(folder) ? fs.readdirSync(folder) : [];
    const files = names.map((name) => path.join(folder, name)).filter((file) => !this.#arriving.has(file));
    const reserved = [...this.#arriving.values()].map((each) => each.reserved);
    return [...files.map(sizeOf), ...reserved].reduce((sum, bytes) => sum + bytes, 0);
  }

  #limit(): number {
    const { limitBytes, folder } = this.settings;
    if (limitBytes !== null) return limitBytes;
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { blocks, bsize } = fs.statfsSync(folder);
    return (blocks * bsize) / 2;
  }

  #tooMuch(bytes: number, limit: number): ChasquiError {
    return new ChasquiError(
      'no_space',
      `The model of ${formatMemory(bytes)} does not fit into the ${formatMemory(limit)} for uploads (\`uploadsLimit\`). ` +
        'Apps may still need the uploaded models.',
    );
  }
}

function otherDigest(): ChasquiError {
  return invalidValue('The digest of the body differs from the path.', 'sha256');
}

function noGguf(): ChasquiError {
  return invalidValue('The body is not a GGUF file.');
}

function sizeOf(file: string): number {
  return fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Organisations that sent a model. Knowing the digest alone gives no access to the model of another organisation. */
const SENDER_STEPS = [
  `CREATE TABLE model_senders (
    sha256 TEXT NOT NULL,
    org TEXT NOT NULL,
    PRIMARY KEY (sha256, org)
  ) STRICT, WITHOUT ROWID`,
];

export class ModelSenders {
  constructor(private readonly database: Database) {
    database.migrate('models', SENDER_STEPS);
  }

  /** Also removes the senders of models that no longer exist. */
  add(sha256: string, org: string, exists: (sha256: string) => boolean): void {
    this.database.transaction(() => {
      const all = this.database.all<{ sha256: string }>('SELECT DISTINCT sha256 FROM model_senders');
      for (const { sha256: each } of all) {
        if (!exists(each)) this.database.run('DELETE FROM model_senders WHERE sha256 = ?', [each]);
      }
      this.database.run('INSERT OR IGNORE INTO model_senders (sha256, org) VALUES (?, ?)', [sha256, org]);
    });
  }

  modelsOf(org: string): string[] {
    const rows = this.database.all<{ sha256: string }>('SELECT sha256 FROM model_senders WHERE org = ?', [org]);
    return rows.map(({ sha256 }) => sha256);
  }

  has(sha256: string, org: string): boolean {
    return this.database.get('SELECT 1 FROM model_senders WHERE sha256 = ? AND org = ?', [sha256, org]) !== undefined;
  }
}
