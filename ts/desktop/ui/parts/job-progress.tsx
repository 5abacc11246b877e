import type { DownloadJob } from '../../api-types.js';
import { bytes, duration, percent } from '../state/format.js';

const states = {
  queued: 'Queued',
  downloading: '',
  paused: 'Paused',
  verifying: 'Checking the digest',
  completed: 'Complete',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

/** Progress of a download, as text and as a bar. */
export function JobProgress({ job }: { job: DownloadJob }) {
  const { state, totalBytes, downloadedBytes, bytesPerSecond, secondsLeft } = job;
  const share = totalBytes > 0 ? downloadedBytes / totalBytes : 0;
  const parts = [
    states[state],
    totalBytes > 0 && `${bytes(downloadedBytes)} of ${bytes(totalBytes)} (${percent(share)})`,
    state === 'downloading' && bytesPerSecond && `${bytes(bytesPerSecond)}/s`,
    state === 'downloading' && secondsLeft !== null && `${duration(secondsLeft)} left`,
  ].filter(Boolean);
  return (
    <div class="job-progress">
      <progress value={share} max={1} aria-label={`Download of ${job.model}`} />
      <span class="help">{parts.join(' · ')}</span>
      {state === 'downloading' && job.error && <span class="help">Retrying: {job.error.message}</span>}
    </div>
  );
}
