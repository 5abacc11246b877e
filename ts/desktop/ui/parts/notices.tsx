import { t } from '../state/language.js';
import { dismiss, notices } from '../state/notices.js';
import { IconAction } from './button.js';
import { Icon } from './icon.js';

/** Longer texts are truncated. */
const maxLength = 400;

export function Notices() {
  return (
    <section class="notices" aria-label={t('notices')} aria-live="polite">
      {notices.value.map(({ id, kind, text, mends }) => (
        <div key={id} class={`notice ${kind}`} role={kind === 'error' ? 'alert' : 'status'}>
          <Icon name={kind === 'error' ? 'warning' : 'check'} />
          <div class="notice-text">
            <p>{text.length > maxLength ? `${text.slice(0, maxLength)} …` : text}</p>
            {mends.length > 0 && (
              <div class="row">
                {mends.map(({ label, run }) => (
                  <button
                    key={label}
                    type="button"
                    onClick={() => {
                      dismiss(id);
                      run();
                    }}
                  >
                    {label}
                  </button>
                ))}
              </div>
            )}
          </div>
          <IconAction label={t('dismiss')} icon="close" run={() => dismiss(id)} />
        </div>
      ))}
    </section>
  );
}
