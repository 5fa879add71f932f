// The container's health check: whether the process answers. /readyz would make the engine restart
// a healthy process while its database is away.
const port = process.env.PORT ?? '8080';
const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
process.exitCode = answer?.ok ? 0 : 1;
