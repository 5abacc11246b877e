/** Sanitises HTML of models and model pages: no scripts, forms, styles or external requests. */
import DOMPurify from 'dompurify';

const purify = DOMPurify(window);

purify.addHook('afterSanitizeAttributes', (node) => {
  if (node instanceof HTMLAnchorElement) secureLink(node);
  else if (node instanceof HTMLImageElement) keepOwnImage(node);
  else if (node.nodeName === 'TABLE') node.setAttribute('tabindex', '0');
});

/** The language of code, which selects its highlighting and its preview. */
purify.addHook('uponSanitizeAttribute', (node, event) => {
  const { attrName, attrValue } = event;
  event.forceKeepAttr = node.nodeName === 'CODE' && attrName === 'class' && /^language-[\w+#.-]{1,40}$/.test(attrValue);
});

export function sanitise(html: string): string {
  return purify.sanitize(html, {
    USE_PROFILES: { html: true, mathMl: true },
    FORBID_TAGS: ['style', 'form', 'input', 'button', 'textarea', 'select', 'audio', 'video', 'source', 'dialog'],
    FORBID_ATTR: ['style', 'class', 'id', 'name', 'srcset', 'background'],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
  });
}

function secureLink(link: HTMLAnchorElement): void {
  if (!/^(https?:|mailto:)/i.test(link.getAttribute('href') ?? '')) {
    link.removeAttribute('href');
    return;
  }
  link.setAttribute('target', '_blank');
  link.setAttribute('rel', 'noopener noreferrer');
}

/** External images would reveal what the user reads; the alternative text replaces them. */
function keepOwnImage(image: HTMLImageElement): void {
  const source = image.getAttribute('src') ?? '';
  if (/^(data:image\/|blob:)/i.test(source)) {
    if (!image.hasAttribute('alt')) image.setAttribute('alt', '');
    return;
  }
  image.replaceWith(image.alt ? `[${image.alt}]` : '');
}
