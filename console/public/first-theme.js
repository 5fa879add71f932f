// Sets the theme before the first paint, so that a dark room sees no white flash. A file of its own
// because the content security policy allows no inline script.
(() => {
  let chosen = 'auto';
  try {
    chosen = localStorage.getItem('carillon-theme') ?? 'auto';
  } catch {
    // A browser that refuses storage gets the theme of the system.
  }
  const isDark = chosen === 'auto' ? matchMedia('(prefers-color-scheme: dark)').matches : chosen === 'dark';
  document.documentElement.dataset.mantineColorScheme = isDark ? 'dark' : 'light';
})();
