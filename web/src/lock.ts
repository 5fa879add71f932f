// Runs one task at a time for all tabs and the worker of an origin. In browsers without locks,
// tasks run at once: each task reads its data again before it sends them, so a double run wastes a
// request and does no harm.

export async function oneAtATime<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  const locks = (navigator as { locks?: LockManager }).locks;
  return locks ? await locks.request(`carillon ${name}`, work) : await work();
}
