import type { DownloadJob } from '../../api-types.js';
import { bytes, duration, percent } from '../state/format.js';
import { t } from '../state/language.js';

const states = {
  queued: 'queued',
  downloading: null,
  paused: 'paused',
  verifying: 'checkingDigest',
  completed: 'complete',
  failed: 'failed',
  cancelled: 'cancelled',
} as const;

/** Progress of a download, as text and as a bar. */
export function JobProgress({ job }: { job: DownloadJob }) {
  const { state, totalBytes, downloadedBytes, bytesPerSecond, secondsLeft } = job;
  const share = totalBytes > 0 ? downloadedBytes / totalBytes : 0;
  const words = states[state];
  const parts = [
    words && t(words),
    totalBytes > 0 &&
      t('downloadedOf', { done: bytes(downloadedBytes), total: bytes(totalBytes), share: percent(share) }),
    state === 'downloading' && bytesPerSecond && `${bytes(bytesPerSecond)}/s`,
    state === 'downloading' && secondsLeft !== null && t('timeLeft', { time: duration(secondsLeft) }),
  ].filter(Boolean);
  return (
    <div class="job-progress">
      <progress value={share} max={1} aria-label={t('downloadOf', { model: job.model })} />
      <span class="help">{parts.join(' · ')}</span>
      {state === 'downloading' && job.error && (
        <span class="help">{t('retryingBecause', { reason: job.error.message })}</span>
      )}
    </div>
  );
}
