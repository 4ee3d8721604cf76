/** The commit that a stack stands at, where its directory is in git and git is there to be asked. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const TIMEOUT_MS = 5_000;

export interface Commit {
  readonly id: string;
  /** Whether the files that were read are as they were committed. */
  readonly isClean: boolean;
}

/** Reads only: no index is refreshed, and no hook or monitor of the repository is started. */
export async function commitOf(directory: string, files: readonly string[]): Promise<Commit | undefined> {
  const git = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)('git', ['-c', 'core.fsmonitor=false', ...args], {
      cwd: directory,
      timeout: TIMEOUT_MS,
      env: { ...process.env, GIT_OPTIONAL_LOCKS: '0' },
    });
    return stdout.trim();
  };
  try {
    const id = await git('rev-parse', '--verify', 'HEAD');
    const changed = await git('status', '--porcelain', '--', ...files);
    return { id, isClean: changed === '' };
  } catch {
    // No repository, no commit yet, no git: evidence can do without.
    return undefined;
  }
}
