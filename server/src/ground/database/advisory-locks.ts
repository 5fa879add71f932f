// Every advisory lock of a Carillon database, so that no two parts share a number by mistake. The
// numbers are arbitrary and must never change, because processes of two versions run side by side
// during an upgrade.

export const advisoryLocks = {
  migrations: 4_271_960_118,
  deliveryPartitions: 4_271_960_119,
  countedProperties: 4_271_960_131,
  upkeep: 4_271_960_132,
  indexes: 4_271_960_133,
  slots: 4_271_960_134,
  eventPartitions: 4_271_960_140,
  eventTotals: 4_271_960_141,
  settling: 4_271_960_142,
} as const;
export type AdvisoryLock = keyof typeof advisoryLocks;

/** Locks of one app each: the first of two numbers. The second is the app's. */
export const advisoryLocksOfApp = { eventNames: 4_271_961, segments: 4_271_971, drafts: 4_271_972 } as const;
