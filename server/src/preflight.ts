import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { createServer } from 'node:net';
import { type Config, SettingFailure } from './config.ts';
import { makeDirectory } from './platform/make-directory.ts';

/**
 * Refuses addresses and folders that cannot be had, before a start loads the program and opens the database, which takes
 * most of its time.
 */
export async function checkAddressesAndFolders(config: Config): Promise<void> {
  const { host, port, metricsHost, metricsPort, backupDir } = config;
  if (backupDir !== undefined) checkBackupFolder(backupDir);
  await explainListenError('HOST', 'PORT', tryAddress(host, port));
  if (metricsPort !== undefined)
    await explainListenError('METRICS_HOST', 'METRICS_PORT', tryAddress(metricsHost, metricsPort));
}

function checkBackupFolder(folder: string): void {
  try {
    makeDirectory(folder, 0o700);
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new SettingFailure(
      'folder_refused',
      `BACKUP_DIR: ${folder} cannot be used: ${reason}. Set it to a folder that this user may write.`,
    );
  }
}

async function tryAddress(host: string, port: number): Promise<void> {
  const server = createServer().listen({ host, port });
  await once(server, 'listening');
  await new Promise<void>((resolve) => server.close(() => resolve()));
}

/** Says which setting to change where an address or a port cannot be had. */
export async function explainListenError<T>(host: string, port: string, listen: Promise<T>): Promise<T> {
  try {
    return await listen;
  } catch (error) {
    const { code, message }: NodeJS.ErrnoException = error instanceof Error ? error : new Error(String(error));
    if (code === 'EADDRINUSE')
      throw new SettingFailure(
        'port_in_use',
        `${message}. Another program uses this port: stop it, or set ${port} to another.`,
      );
    if (code === 'EACCES')
      throw new SettingFailure(
        'address_refused',
        `${message}. Ports below 1024 need root: set ${port} to a larger one.`,
      );
    throw new SettingFailure('address_refused', `${message}. Set ${host} to an address of this machine.`);
  }
}
