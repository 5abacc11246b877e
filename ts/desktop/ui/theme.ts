/** Applies the stored colour scheme and language before the first paint, to avoid a flash. */
document.documentElement.dataset.theme = localStorage.getItem('chasqui.theme') ?? 'system';
document.documentElement.lang = localStorage.getItem('chasqui.language') ?? 'en';
