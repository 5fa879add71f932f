// The program that the embedded server belongs to: what it is called in sentences to its operator and
// in clusters on disk. Another program changes this file alone.

export const owner = {
  /** In sentences. */
  title: 'Carillon',
  /**
   * The database of the program, the superuser of its cluster, and a system user that may run the
   * server.
   */
  name: 'carillon',
  /** The role by which the program uses its database. */
  serviceRole: 'carillon_service',
} as const;
