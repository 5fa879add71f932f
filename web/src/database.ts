// The SDK's IndexedDB: the store that a page and its service worker share. It does not know the
// meaning of its contents.
import { StorageError } from './errors.ts';

export type StoreName = 'browsers' | 'events';

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open('carillon', 1);
    request.onupgradeneeded = () => {
      const database = request.result;
      database.createObjectStore('browsers', { keyPath: 'scope' });
      database.createObjectStore('events', { keyPath: 'order', autoIncrement: true }).createIndex('scope', 'scope');
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/**
 * Runs `work` in one transaction and resolves with the value given to `done` once the transaction
 * is complete. The connection is closed afterwards, so that an open page never blocks a later
 * version of the store.
 */
export async function inTransaction<Result>(
  name: StoreName,
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore, done: (result: Result) => void) => void,
): Promise<Result | undefined> {
  let database: IDBDatabase | undefined;
  try {
    const opened = await open();
    database = opened;
    return await new Promise<Result | undefined>((resolve, reject) => {
      let result: Result | undefined;
      const transaction = opened.transaction(name, mode);
      transaction.oncomplete = () => resolve(result);
      transaction.onabort = () => reject(transaction.error);
      work(transaction.objectStore(name), (value) => {
        result = value;
      });
    });
  } catch (cause) {
    throw new StorageError('This browser does not let the page keep anything (IndexedDB).', { cause });
  } finally {
    database?.close();
  }
}
