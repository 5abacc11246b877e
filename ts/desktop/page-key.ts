/** The key of pages, which the guard and the pages share. */

export const PAGE_KEY_HEADER = 'x-chasqui-page-key';
/** Entry of `localStorage`, which pages at other ports cannot read. */
export const PAGE_KEY_ENTRY = 'chasqui.pageKey';
