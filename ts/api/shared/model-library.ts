/** Operations that the operator can offer to clients: downloading and deleting models. */

export interface PulledFile {
  /** SHA-256, in hexadecimal digits. */
  digest: string;
  totalBytes: number;
  completedBytes: number;
}

export interface PullProgress {
  files: readonly PulledFile[];
  /** Whether the bytes of a file are there and compared with its digest. */
  isVerifying: boolean;
}

export interface PullWatch {
  /** Ends the pull. The download is paused if no other client waits for it. */
  signal: AbortSignal;
  onProgress?(progress: PullProgress): void;
}

export interface ModelLibrary {
  /** Resolves when the model is on this computer and may be named in requests. Rejects with what is against it. */
  pull(name: string, watch: PullWatch): Promise<void>;
  /** Resolves when the model is unloaded and its files are deleted. Rejects with what is against it. */
  remove(name: string): Promise<void>;
}
