/**
 * A folder that is held open, so that what is done in it is done there: neither a symbolic link in place of one
 * of its members nor a folder that is moved meanwhile leads anywhere else.
 */
import { constants, existsSync } from 'node:fs';
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  realpath,
  rename,
  rmdir,
  unlink,
} from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from './error-code.ts';

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
/** Where the system names open folders; elsewhere real paths are compared instead. */
const OPEN_FOLDERS = existsSync('/proc/self/fd') ? '/proc/self/fd' : undefined;
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** What stands where a folder was looked for: a symbolic link, a file, or a path that leads elsewhere. */
export class NoFolderError extends Error {
  override readonly name = 'NoFolderError';
}

export class AnchoredFolder {
  readonly #handle: FileHandle;
  readonly #path: string;

  private constructor(handle: FileHandle, path: string) {
    this.#handle = handle;
    this.#path = path;
  }

  /** Opens a folder by its path, whose links are followed. Undefined when it is not there. */
  static async open(path: string): Promise<AnchoredFolder | undefined> {
    const real = await realpath(path).catch(undefinedWhenMissing);
    return real === undefined ? undefined : AnchoredFolder.#anchor(real, real);
  }

  /** Opens a folder in this one. Undefined when it is not there; throws `NoFolderError` for a link or a file. */
  async folder(name: string): Promise<AnchoredFolder | undefined> {
    return AnchoredFolder.#anchor(this.#at(name), join(this.#path, name));
  }

  /** Makes a folder in this one and opens it; `made` is false when it was there. */
  async makeFolder(name: string): Promise<{ folder: AnchoredFolder; made: boolean }> {
    const made = await mkdir(this.#at(name), { mode: FOLDER_MODE }).then(
      () => true,
      (error: unknown) => {
        if (codeOf(error) === 'EEXIST') return false;
        throw error;
      },
    );
    const folder = await this.folder(name);
    if (folder === undefined) {
      throw Object.assign(new Error(`folder ${name} was removed`), { code: 'ENOENT' });
    }
    return { folder, made };
  }

  /** Writes a new file to the disk; one that is there is an error. */
  async writeFile(name: string, content: Buffer | string): Promise<void> {
    const file = await open(this.#at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, FILE_MODE);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** Returns the text of a file of at most so many bytes; undefined when it is larger, no file, or not there. */
  async readText(name: string, maxBytes: number): Promise<string | undefined> {
    // A pipe in its place would keep a thread waiting for whoever writes to it.
    const flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
    const file = await open(this.#at(name), flags).catch(() => undefined);
    try {
      const stat = await file?.stat();
      if (file === undefined || stat?.isFile() !== true || stat.size > maxBytes) return undefined;
      return await file.readFile('utf8');
    } finally {
      await file?.close();
    }
  }

  names(): Promise<string[]> {
    return readdir(this.#at('.'));
  }

  /** When the folder itself was changed last, epoch ms. */
  async changedAt(): Promise<number> {
    return (await this.#handle.stat()).mtimeMs;
  }

  rename(from: string, to: string): Promise<void> {
    return rename(this.#at(from), this.#at(to));
  }

  /** Removes a member with all that is in it; links are removed, not followed. A missing one is no error. */
  async remove(name: string): Promise<void> {
    const stat = await lstat(this.#at(name)).catch(undefinedWhenMissing);
    if (stat === undefined) return;
    if (!stat.isDirectory()) return unlink(this.#at(name)).catch(undefinedWhenMissing);
    const folder = await this.folder(name);
    await folder?.use(async () => {
      for (const member of await folder.names()) await folder.remove(member);
    });
    await rmdir(this.#at(name)).catch(undefinedWhenMissing);
  }

  /** Removes a folder in this one if nothing is in it; returns false when something is. */
  removeEmpty(name: string): Promise<boolean> {
    return rmdir(this.#at(name)).then(
      () => true,
      () => false,
    );
  }

  /** What was added, renamed and removed here is on the disk afterwards. */
  sync(): Promise<void> {
    return this.#handle.sync();
  }

  /** Works in the folder, and closes it when the work has ended. */
  async use<T>(work: (folder: AnchoredFolder) => Promise<T>): Promise<T> {
    try {
      return await work(this);
    } finally {
      await this.#handle.close();
    }
  }

  static async #anchor(from: string, path: string): Promise<AnchoredFolder | undefined> {
    try {
      const handle = await open(from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      const folder = new AnchoredFolder(handle, path);
      if (OPEN_FOLDERS !== undefined || (await realpath(path)) === path) return folder;
      await handle.close();
      throw new NoFolderError(`${path} is a symbolic link`);
    } catch (error) {
      const code = codeOf(error);
      if (code === 'ENOENT') return undefined;
      if (code === 'ELOOP' || code === 'ENOTDIR')
        throw new NoFolderError(`${path} is a symbolic link or no folder`);
      throw error;
    }
  }

  #at(name: string): string {
    return OPEN_FOLDERS === undefined
      ? join(this.#path, name)
      : `${OPEN_FOLDERS}/${this.#handle.fd}/${name}`;
  }
}

function undefinedWhenMissing(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error;
  return undefined;
}
