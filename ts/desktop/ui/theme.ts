/** Applies the stored colour scheme before the first paint, to avoid a flash. */
document.documentElement.dataset.theme = localStorage.getItem('chasqui.theme') ?? 'system';
