// Bundles the compiler's output into the program that runs: few files, because loading a thousand
// modules one by one is most of the time that a command or a process of the service needs to start.
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

const bundle = await rolldown({
  input: {
    main: at('dist/main.js'),
    child: at('dist/operation/process/child.js'),
    'encrypt-thread': at('dist/sending/channels/webpush/encrypt-thread.js'),
    // Tests arm the program's failpoints.
    failpoint: at('dist/ground/host/failpoint.js'),
  },
  platform: 'node',
});
await bundle.write({ dir: at('dist/program/'), format: 'esm', sourcemap: true, cleanDir: true });
