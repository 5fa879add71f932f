// Notes where the service of a checkout keeps its database, and at which address it is reached.
// Each start writes the note, so that a command finds the database from any folder of the checkout,
// never takes an empty folder for an empty service, and prints links that lead to the service. The
// note holds no secret.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type Config, loadConfig, type Variable } from '../../config.ts';
import { checkoutDir } from '../../ground/host/program-name.ts';

interface ServicePlace {
  /**
   * The folder in which the service was started: its `.env` is read there, and relative paths begin
   * there.
   */
  readonly working_dir: string;
  /** Null: the service was started with DATABASE_URL. */
  readonly data_dir: string | null;
  /** Absent in the note of an earlier release. */
  readonly address?: {
    readonly host: string;
    readonly port: number;
    /** Null: nobody has said how the service is reached. */
    readonly public_url: string | null;
  };
}

const placeFile = (checkout: string): string => join(checkout, '.carillon-service.json');

/**
 * Notes where a service that is started inside its checkout keeps its database. Nothing depends on
 * the note: a read-only checkout has none.
 */
export function noteServicePlace(config: Config, workingDir = process.cwd(), checkout = checkoutDir): void {
  if (checkout === null || !isInside(checkout, workingDir)) return;
  const place: ServicePlace = {
    working_dir: workingDir,
    data_dir: config.databaseUrl === null ? config.dataDir : null,
    address: { host: config.host, port: config.port, public_url: config.publicUrl },
  };
  try {
    writeFileSync(placeFile(checkout), `${JSON.stringify(place, null, 2)}\n`);
  } catch {}
}

/**
 * Loads the configuration of a command. The command's own folder decides if it names a database or
 * has one. Otherwise, inside a checkout, the service that was last started there decides. If the
 * command works on that service's data and names no address, it uses the service's address. Throws
 * `ConfigError`.
 */
export function loadCommandConfig(
  environment?: NodeJS.ProcessEnv,
  workingDir = process.cwd(),
  checkout = checkoutDir,
): Config {
  const here = loadConfig(environment, workingDir);
  const place = checkout === null ? undefined : readPlace(checkout);
  if (checkout === null || !place) return here;
  if (here.databaseUrl !== null || here.isDataDirGiven || hasDatabase(here.dataDir)) {
    const isItsData = here.databaseUrl === null && place.data_dir === here.dataDir;
    return isItsData && !here.isAddressGiven ? loadConfig(environment, workingDir, addressOf(place)) : here;
  }
  if (!isInside(checkout, workingDir)) return here;
  const data: Defaults = place.data_dir === null ? {} : { DATA_DIR: place.data_dir };
  const there = loadConfig(environment, place.working_dir, data);
  return there.isAddressGiven ? there : loadConfig(environment, place.working_dir, { ...addressOf(place), ...data });
}

type Defaults = Partial<Record<Variable, string>>;

function addressOf({ address }: ServicePlace): Defaults {
  if (!address) return {};
  return { HOST: address.host, PORT: String(address.port), PUBLIC_URL: address.public_url ?? '' };
}

/**
 * Tells a person whose command found no database where it looked, and how to name the right place.
 */
export function describeNoDatabase({ dataDir }: Config, checkout = checkoutDir): string {
  const place = checkout === null ? undefined : readPlace(checkout);
  const known =
    place === undefined || place.data_dir === dataDir
      ? ''
      : place.data_dir === null
        ? ` The service of ${checkout} was started with DATABASE_URL.`
        : ` The service of ${checkout} has DATA_DIR=${place.data_dir}.`;
  return `There is no database in ${dataDir}.${known} Name the service's with DATA_DIR=… or DATABASE_URL=… before the command`;
}

function hasDatabase(dataDir: string): boolean {
  return existsSync(join(dataDir, 'database')) || existsSync(join(dataDir, 'postgres'));
}

function readPlace(checkout: string): ServicePlace | undefined {
  try {
    return JSON.parse(readFileSync(placeFile(checkout), 'utf8')) as ServicePlace;
  } catch {
    return undefined;
  }
}

function isInside(folder: string, path: string): boolean {
  return !/^\.\.(?:\/|$)/.test(relative(folder, path));
}
