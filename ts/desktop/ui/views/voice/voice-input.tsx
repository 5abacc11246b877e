import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { IconAction } from '../../parts/button.js';
import { loadedOf } from '../../state/app.js';
import { t } from '../../state/language.js';
import { attempt } from '../../state/notices.js';
import { type Recording, record } from './record.js';

interface VoiceInputProps {
  model: string;
  /** Takes a data URI. */
  add: (audio: string) => void;
}

/** A button that records, for models that take audio on computers with a microphone. */
export function VoiceInput({ model, add }: VoiceInputProps) {
  const hasMicrophone = useMicrophone();
  const recording = useSignal<Recording | 'starting' | null>(null);
  const seconds = useSignal(0);
  const running = recording.value;

  useEffect(() => {
    if (running === null || running === 'starting') return;
    seconds.value = 0;
    const clock = setInterval(() => {
      seconds.value += 1;
    }, 1000);
    return () => clearInterval(clock);
  }, [running]);

  // Leaving the chat discards the recording.
  useEffect(
    () => () => {
      const left = recording.peek();
      recording.value = null;
      if (left !== 'starting') left?.stop();
    },
    [],
  );

  const start = async () => {
    recording.value = 'starting';
    await attempt(async () => {
      const begun = await record();
      if (recording.peek() === null) return begun.stop();
      recording.value = begun;
      const isWanted = () => recording.peek() === begun;
      await begun.done.then(
        (audio) => isWanted() && add(audio),
        (error) => {
          if (isWanted()) throw error;
        },
      );
    });
    recording.value = null;
  };

  if (running !== null && running !== 'starting') {
    return (
      <>
        <IconAction label={t('stopRecording')} icon="stop" pressed run={running.stop} />
        <span class="help" role="timer">
          {t('recordedSeconds', { count: seconds.value })}
        </span>
      </>
    );
  }
  if (!hasMicrophone || !loadedOf(model)?.audio) return null;
  return (
    <IconAction label={t('recordVoice')} icon="microphone" disabled={running === 'starting'} run={() => void start()} />
  );
}

/** Follows microphones that are plugged in and out. */
function useMicrophone(): boolean {
  const found = useSignal(false);
  useEffect(() => {
    // Undefined for pages at other addresses than those of this computer.
    const { mediaDevices: devices } = navigator as { mediaDevices?: MediaDevices };
    if (devices === undefined) return;
    const look = async () => {
      const all = await devices.enumerateDevices().catch(() => []);
      found.value = all.some(({ kind }) => kind === 'audioinput');
    };
    void look();
    devices.addEventListener('devicechange', look);
    return () => devices.removeEventListener('devicechange', look);
  }, []);
  return found.value;
}
