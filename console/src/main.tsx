// Mounts the console: theme, remembered answers, routes.
import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './console.css';
import { localStorageColorSchemeManager, MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { RouterProvider } from 'react-router/dom';
import { queryClient } from './api/queries.ts';
import { router } from './routes.tsx';
import { cssVariables, theme } from './theme.ts';

const schemes = localStorageColorSchemeManager({ key: 'carillon-theme' });
const root = document.getElementById('root');
if (!root) throw new Error('the page has no element #root');

// Paper is white, so a page of the dark theme is printed in the light colours.
const page = document.documentElement;
const schemeName = 'data-mantine-color-scheme';
window.addEventListener('beforeprint', () => {
  const shown = page.getAttribute(schemeName) ?? 'light';
  page.setAttribute(schemeName, 'light');
  window.addEventListener('afterprint', () => page.setAttribute(schemeName, shown), { once: true });
});

createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      colorSchemeManager={schemes}
      cssVariablesResolver={cssVariables}
    >
      <Notifications position="bottom-right" limit={3} />
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
