// Progressive enhancement: copy buttons, live updates, log following. The pages work without it.

const MAX_LOG_LINES = 2000;

for (const button of document.querySelectorAll('[data-copy]')) {
  const label = button.innerHTML;
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = 'Copied';
    } catch {
      // The clipboard needs TLS; select the text instead.
      getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
      button.textContent = 'Press Ctrl+C to copy';
    }
    setTimeout(() => {
      button.innerHTML = label;
    }, 2500);
  });
}

// Close confirmation sheets on Escape and on a click outside.
document.addEventListener('keydown', ({ key }) => {
  if (key !== 'Escape') return;
  for (const sheet of document.querySelectorAll('.confirm[open]')) {
    sheet.open = false;
    sheet.querySelector('summary').focus();
  }
});
document.addEventListener('click', ({ target }) => {
  for (const sheet of document.querySelectorAll('.confirm[open]')) if (!sheet.contains(target)) sheet.open = false;
});

const liveSources = new Set([...document.querySelectorAll('[data-live]')].map((part) => part.dataset.live));
for (const source of liveSources) {
  let isWanted = false;
  let isUnderWay = false;
  const renew = async () => {
    isWanted = true;
    if (isUnderWay) return;
    isUnderWay = true;
    while (isWanted) {
      isWanted = false;
      await renewParts().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    isUnderWay = false;
  };
  const events = new EventSource(source);
  events.addEventListener('change', renew);
  // Catch up with changes during a lost connection.
  let wasOpen = false;
  events.addEventListener('open', () => {
    if (wasOpen) renew();
    wasOpen = true;
  });
  document.addEventListener('focusout', () => {
    if (isWanted || hasPutOff) renew();
  });
}

let hasPutOff = false;

/** Replaces the live parts of the page by those of a new copy, except parts in use. */
async function renewParts() {
  const reply = await fetch(location.href, { headers: { accept: 'text/html' } });
  if (reply.redirected || reply.status === 404) return location.reload();
  if (!reply.ok) return;
  const page = new DOMParser().parseFromString(await reply.text(), 'text/html');
  const fresh = page.querySelectorAll('[data-live]');
  hasPutOff = false;
  for (const [index, part] of document.querySelectorAll('[data-live]').entries()) {
    const isInUse = part.querySelector('details[open]') || part.querySelector('input:focus, select:focus');
    if (isInUse) hasPutOff = true;
    if (isInUse || !fresh[index] || part.innerHTML === fresh[index].innerHTML) continue;
    const focused = part.contains(document.activeElement) ? placeOf(part, document.activeElement) : -1;
    part.replaceChildren(...fresh[index].childNodes);
    if (focused >= 0) focusables(part)[focused]?.focus();
  }
}

function focusables(part) {
  return [...part.querySelectorAll('a, button, summary, input, [tabindex]')];
}

function placeOf(part, element) {
  return focusables(part).indexOf(element);
}

const log = document.querySelector('[data-log]');
if (log) followLog(log);

function followLog(log) {
  const follow = document.getElementById('follow');
  const state = document.getElementById('log-state');
  const toEnd = () => {
    if (follow.checked) log.scrollTop = log.scrollHeight;
  };
  toEnd();
  follow.addEventListener('change', toEnd);
  // Stop following when the reader scrolls up.
  log.addEventListener('wheel', ({ deltaY }) => {
    if (deltaY < 0) follow.checked = false;
  });
  const events = new EventSource(log.dataset.log);
  events.addEventListener('open', () => {
    state.textContent = 'Live';
  });
  events.addEventListener('error', () => {
    state.textContent = 'Not connected';
  });
  events.addEventListener('line', ({ data }) => {
    const { at, runner, text } = JSON.parse(data);
    const line = document.createElement('div');
    for (const [tag, content] of [
      ['time', new Date(at).toISOString().slice(11, 23)],
      ['b', runner],
      ['span', text],
    ]) {
      line.appendChild(document.createElement(tag)).textContent = content;
    }
    log.appendChild(line);
    while (log.childElementCount > MAX_LOG_LINES) log.firstElementChild.remove();
    toEnd();
  });
}
