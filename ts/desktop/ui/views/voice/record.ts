/** Records the microphone. The server reads WAV, which browsers do not record. */
import { t } from '../../state/language.js';

/** Speech models take 16 kHz. Two minutes are 3.8 MB. */
const sampleRate = 16_000;
export const maxSeconds = 120;

export interface Recording {
  stop(): void;
  /** A data URI. Rejects if there is no sound. */
  done: Promise<string>;
}

/** Stops after `maxSeconds`, and when the microphone is unplugged. */
export async function record(): Promise<Recording> {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true }).catch((error: DOMException) => {
    throw new Error(t(error.name === 'NotAllowedError' ? 'microphoneRefused' : 'microphoneFailed'));
  });
  try {
    return recordStream(stream);
  } catch {
    free(stream);
    return nothingRecorded();
  }
}

function free(microphone: MediaStream): void {
  for (const track of microphone.getTracks()) track.stop();
}

function recordStream(stream: MediaStream): Recording {
  const recorder = new MediaRecorder(stream);
  const pieces: Blob[] = [];
  recorder.ondataavailable = ({ data }) => pieces.push(data);
  const ended = new Promise<void>((resolve, reject) => {
    recorder.onstop = () => resolve();
    recorder.onerror = reject;
  });
  const stop = () => {
    if (recorder.state !== 'inactive') recorder.stop();
  };
  recorder.start();
  const timer = setTimeout(stop, maxSeconds * 1000);
  const release = () => {
    clearTimeout(timer);
    free(stream);
  };
  return {
    stop,
    done: ended
      .finally(release)
      .then(() => toWav(new Blob(pieces)))
      .catch(nothingRecorded),
  };
}

/** Recordings of a few milliseconds cannot be decoded. */
function nothingRecorded(): never {
  throw new Error(t('microphoneFailed'));
}

async function toWav(recorded: Blob): Promise<string> {
  const decoded = await new OfflineAudioContext(1, 1, sampleRate).decodeAudioData(await recorded.arrayBuffer());
  const channels = Array.from({ length: decoded.numberOfChannels }, (_, index) => decoded.getChannelData(index));
  const length = Math.min(decoded.length, maxSeconds * sampleRate);
  const samples = new Int16Array(length);
  for (let at = 0; at < length; at += 1) {
    const mixed = channels.reduce((sum, channel) => sum + (channel[at] ?? 0), 0) / channels.length;
    samples[at] = Math.round(Math.max(-1, Math.min(1, mixed)) * 0x7fff);
  }
  return toUri(wavOf(samples));
}

/** One channel of 16 bits. All browsers run on little-endian processors. */
function wavOf(samples: Int16Array<ArrayBuffer>): Blob {
  const header = new DataView(new ArrayBuffer(44));
  const name = (at: number, text: string) => {
    for (let index = 0; index < text.length; index += 1) header.setUint8(at + index, text.charCodeAt(index));
  };
  name(0, 'RIFF');
  header.setUint32(4, 36 + samples.byteLength, true);
  name(8, 'WAVEfmt ');
  header.setUint32(16, 16, true);
  header.setUint16(20, 1, true);
  header.setUint16(22, 1, true);
  header.setUint32(24, sampleRate, true);
  header.setUint32(28, sampleRate * 2, true);
  header.setUint16(32, 2, true);
  header.setUint16(34, 16, true);
  name(36, 'data');
  header.setUint32(40, samples.byteLength, true);
  return new Blob([header, samples], { type: 'audio/wav' });
}

function toUri(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}
