import { defineConfig } from 'vite';

// `CARILLON_URL` names the running service that `npm run dev -w console` talks to.
export default defineConfig({
  base: '/console/',
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    assetsInlineLimit: 0,
    rolldownOptions: {
      // Mantine marks its modules for servers that render React; nothing here does.
      onwarn: (warning, warn) => {
        if (warning.code !== 'MODULE_LEVEL_DIRECTIVE') warn(warning);
      },
    },
  },
  server: {
    proxy: { '/console/api': { target: process.env['CARILLON_URL'] ?? 'http://127.0.0.1:8080', changeOrigin: false } },
  },
});
