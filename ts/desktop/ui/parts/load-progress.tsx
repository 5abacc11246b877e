import { percent } from '../state/format.js';
import { t } from '../state/language.js';

/** The progress of the load of a model; `share` is null before it is known. */
export function LoadProgress({ share }: { share: number | null }) {
  return (
    <label class="loading">
      {share === null ? t('loading') : t('loadingShare', { share: percent(share) })}
      <progress value={share ?? undefined} max={1} />
    </label>
  );
}
