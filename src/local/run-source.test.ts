import { describe, expect, it } from 'vitest';
import type { Environment } from '../base/processes.ts';
import { type RunProgram, runSource } from './run-source.ts';

const COMMIT = '0123456789abcdef0123456789abcdef01234567';
const OTHER = 'fedcba9876543210fedcba9876543210fedcba98';

interface Git {
  readonly status?: readonly string[];
  /** Exit code of `git ls-files --error-unmatch`. */
  readonly listed?: number;
}

const git =
  ({ status, listed = 0 }: Git): RunProgram =>
  async (_program, args) => {
    if (args.includes('ls-files')) return { code: listed, stdout: '' };
    return status ? { code: 0, stdout: status.map((line) => `${line}\n`).join('') } : { code: 128, stdout: '' };
  };
const CLEAN = [`# branch.oid ${COMMIT}`, '# branch.head main'];
const noGit: RunProgram = async () => undefined;

const sourceWith = (run: RunProgram, environment: Environment = {}, commandLine = 'proxwright apply') =>
  runSource({ host: 'laptop', commandLine, environment, directory: '/lab', file: 'lab/stack.yaml', run });

describe('where a run is started', () => {
  it('is only the host and the command without git, and outside of a repository', async () => {
    const bare = { host: 'laptop', commandLine: 'proxwright apply' };
    expect(await sourceWith(noGit)).toEqual(bare);
    expect(await sourceWith(git({}))).toEqual(bare);
    expect(await sourceWith(git({ status: ['# branch.oid (initial)', '# branch.head main'] }))).toEqual(bare);
  });

  it.each([
    ['clean', CLEAN, 0, false],
    ['changed by a file that differs', [...CLEAN, '1 .M N... 100644 100644 100644 a b stack.yaml'], 0, true],
    ['changed by a stack file that was never committed', CLEAN, 1, true],
  ])('names a commit that is %s', async (_, status, listed, dirty) => {
    const { repository } = await sourceWith(git({ status, listed }));
    expect(repository).toEqual({ commit: COMMIT, branch: 'main', dirty });
  });

  it('asks git in the directory of the stack file, without locks and hooks', async () => {
    const asked: (readonly string[])[] = [];
    await sourceWith(async (program, args, directory) => {
      asked.push([directory, program, ...args]);
      return undefined;
    });
    for (const words of asked) {
      expect(words.slice(0, 5)).toEqual(['/lab', 'git', '--no-optional-locks', '-c', 'core.fsmonitor=false']);
    }
    expect(asked.at(-1)?.at(-1)).toBe('stack.yaml');
  });

  it('escapes and limits foreign text', async () => {
    const hostile = git({ status: [`# branch.oid ${COMMIT}`, `# branch.head \u001b]0;x\u0007${'b'.repeat(900)}`] });
    const environment = { GITLAB_CI: 'true', GITLAB_USER_LOGIN: `eve\n\u202e${'x'.repeat(900)}` };
    const { repository, ci, commandLine } = await sourceWith(hostile, environment, 'y'.repeat(5_000));
    expect(repository?.branch).toMatch(/^\\x1b\]0;x\\x07b+…$/);
    expect(ci?.user).toMatch(/^eve\\n\\u202ex+…$/);
    expect([repository?.branch?.length, ci?.user?.length, commandLine.length]).toEqual([200, 200, 1_000]);
  });
});

describe('the job of a CI system', () => {
  const GITHUB = {
    GITHUB_ACTIONS: 'true',
    GITHUB_SERVER_URL: 'https://github.com',
    GITHUB_REPOSITORY: 'acme/lab',
    GITHUB_RUN_ID: '77',
    GITHUB_ACTOR: 'alice',
    GITHUB_SHA: OTHER,
    GITHUB_REF_NAME: 'main',
  };

  it.each<[system: string, environment: Environment, user: string | undefined, url: string]>([
    ['GitHub Actions', GITHUB, 'alice', 'https://github.com/acme/lab/actions/runs/77'],
    [
      'GitLab CI',
      {
        GITLAB_CI: 'true',
        CI_JOB_URL: 'https://gitlab.example.org/acme/lab/-/jobs/5',
        GITLAB_USER_LOGIN: 'alice',
        CI_COMMIT_SHA: OTHER,
        CI_COMMIT_REF_NAME: 'main',
      },
      'alice',
      'https://gitlab.example.org/acme/lab/-/jobs/5',
    ],
    [
      'Azure Pipelines',
      {
        TF_BUILD: 'True',
        SYSTEM_COLLECTIONURI: 'https://dev.azure.com/acme/',
        SYSTEM_TEAMPROJECT: 'the lab',
        BUILD_BUILDID: '9',
        BUILD_SOURCEVERSION: OTHER,
        BUILD_SOURCEBRANCHNAME: 'main',
      },
      undefined,
      'https://dev.azure.com/acme/the%20lab/_build/results?buildId=9',
    ],
    [
      'Jenkins',
      {
        JENKINS_URL: 'https://ci.example.org/',
        BUILD_URL: 'https://ci.example.org/job/lab/9/',
        GIT_COMMIT: OTHER,
        BRANCH_NAME: 'main',
      },
      undefined,
      'https://ci.example.org/job/lab/9/',
    ],
    [
      'Woodpecker CI',
      { CI: 'woodpecker', CI_PIPELINE_URL: 'https://wp.example.org/1', CI_COMMIT_SHA: OTHER, CI_COMMIT_BRANCH: 'main' },
      undefined,
      'https://wp.example.org/1',
    ],
  ])('is recognised: %s', async (system, environment, user, url) => {
    const { ci, repository } = await sourceWith(noGit, environment);
    expect(ci).toEqual({ system, ...(user !== undefined && { user }), url });
    expect(repository).toEqual({ commit: OTHER, branch: 'main' });
  });

  it('provides the branch of a detached checkout; the commit is that of the checkout', async () => {
    const detached = git({ status: [`# branch.oid ${COMMIT}`, '# branch.head (detached)'] });
    const pull = { ...GITHUB, GITHUB_HEAD_REF: 'more-memory', GITHUB_REF_NAME: '12/merge' };
    expect((await sourceWith(detached, pull)).repository).toEqual({
      commit: COMMIT,
      branch: 'more-memory',
      dirty: false,
    });
  });

  it.each(['javascript:alert(1)', 'not an address', `https://x.example/${'y'.repeat(2_000)}`])(
    'has no link if its address is %.40s',
    async (CI_JOB_URL) => {
      expect((await sourceWith(noGit, { GITLAB_CI: 'true', CI_JOB_URL })).ci).toEqual({ system: 'GitLab CI' });
    },
  );

  it('has a link without the password in its address', async () => {
    const CI_JOB_URL = 'https://gitlab-ci-token:secret@gitlab.example.org/jobs/5';
    const { ci } = await sourceWith(noGit, { GITLAB_CI: 'true', CI_JOB_URL });
    expect(ci?.url).toBe('https://gitlab.example.org/jobs/5');
  });
});
