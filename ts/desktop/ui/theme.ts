/**
 * Runs before the first paint, as a script of its own: the colours that were chosen at the last visit, so that the page
 * does not change them before the eyes of whoever opens it.
 */
document.documentElement.dataset.theme = localStorage.getItem('chasqui.theme') ?? 'system';
