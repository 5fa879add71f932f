// One at a time for tabs and worker of an origin. Where the browser has no locks, work simply runs:
// everything done under a lock may be done twice, it would only be wasteful.

export async function oneAtATime<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  const locks = (navigator as { locks?: LockManager }).locks;
  return locks ? await locks.request(`carillon ${name}`, work) : await work();
}
