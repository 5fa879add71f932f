// One at a time for tabs and worker of an origin. Where the browser has no locks, work simply runs:
// what is done under a lock is read anew before it is sent, so doing it twice is wasteful and no more.

export async function oneAtATime<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  const locks = (navigator as { locks?: LockManager }).locks;
  return locks ? await locks.request(`carillon ${name}`, work) : await work();
}
