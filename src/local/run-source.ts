/**
 * Where a run is started: machine, commit of the stack's repository, CI job. It is only for readers of `runs`, so
 * nothing here fails: unknown values are left out. Foreign texts are escaped and limited.
 */

import { execFile } from 'node:child_process';
import { basename } from 'node:path';
import type { Environment } from '../base/processes.ts';
import { visibleLine } from '../base/text/safe-text.ts';
import type { RunSource } from '../state/events.ts';

/** Runs a program in a directory; undefined if it cannot be started, takes too long or prints too much. */
export type RunProgram = (
  program: string,
  args: readonly string[],
  directory: string,
) => Promise<{ readonly code: number; readonly stdout: string } | undefined>;

export interface SourceDeps {
  readonly host: string;
  readonly commandLine: string;
  readonly environment: Environment;
  /** Of the stack file. */
  readonly directory: string;
  readonly file: string;
  readonly run?: RunProgram;
}

export async function runSource(deps: SourceDeps): Promise<RunSource> {
  const { host, commandLine, environment, directory, file, run = runProgram } = deps;
  const job = ciJob(environment);
  const repository = (await repositoryOf(directory, file, run)) ?? job?.repository;
  // A CI job usually works on a commit without a branch.
  const branch = repository?.branch ?? job?.repository?.branch;
  return {
    host: bounded(host, SHORT),
    commandLine: bounded(commandLine, LONG),
    ...(repository && { repository: { ...repository, ...(branch !== undefined && { branch }) } }),
    ...(job && { ci: job.ci }),
  };
}

const SHORT = 200;
const LONG = 1_000;

function bounded(text: string, most: number): string {
  const line = visibleLine(text);
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

/** One call for the commit and the branch, one for the file, which may not be in the repository yet. */
async function repositoryOf(directory: string, file: string, run: RunProgram): Promise<RunSource['repository']> {
  const [status, listed] = await Promise.all([
    git(run, directory, 'status', '--porcelain=v2', '--branch', '--untracked-files=no', '--ignore-submodules=all'),
    git(run, directory, 'ls-files', '--error-unmatch', '--', basename(file)),
  ]);
  if (status?.code !== 0) return undefined;
  const lines = status.stdout.split('\n').filter((line) => line !== '');
  const header = (name: string) => {
    const start = `# branch.${name} `;
    return lines.find((line) => line.startsWith(start))?.slice(start.length);
  };
  const [commit, branch] = [header('oid'), header('head')];
  if (commit === undefined || !COMMIT.test(commit)) return undefined;
  const isChanged = lines.some((line) => !line.startsWith('#'));
  return {
    commit,
    ...(branch !== undefined && branch !== '(detached)' && { branch: bounded(branch, SHORT) }),
    dirty: isChanged || listed?.code === 1,
  };
}

/** Takes no lock of the repository, and starts no program that its configuration names. */
const git = (run: RunProgram, directory: string, ...args: readonly string[]) =>
  run('git', ['--no-optional-locks', '-c', 'core.fsmonitor=false', ...args], directory);

/** A repository on a hanging network drive must not delay an apply. */
const PROGRAM_TIMEOUT_MS = 3_000;
const MAX_OUTPUT_BYTES = 4 * 1024 ** 2;

const runProgram: RunProgram = (program, args, directory) =>
  new Promise((resolve) => {
    const limits = { cwd: directory, timeout: PROGRAM_TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES, windowsHide: true };
    execFile(program, args, limits, (error, stdout) => {
      if (!error) resolve({ code: 0, stdout });
      else resolve(typeof error.code === 'number' ? { code: error.code, stdout } : undefined);
    });
  });

interface CiSystem {
  readonly system: string;
  /** Whether a job of this system is running. */
  readonly isHere: (environment: Environment) => boolean;
  readonly url: (environment: Environment) => string | undefined;
  /** The first variable that is set counts. */
  readonly user: readonly string[];
  readonly commit: readonly string[];
  readonly branch: readonly string[];
}

const isSet = (name: string) => (environment: Environment) => (environment[name] ?? '') !== '';
const from = (name: string) => (environment: Environment) => environment[name];

/** The variables that each system documents for its jobs. */
const CI_SYSTEMS: readonly CiSystem[] = [
  {
    system: 'GitHub Actions',
    isHere: isSet('GITHUB_ACTIONS'),
    url: ({ GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository, GITHUB_RUN_ID: run }) =>
      server && repository && run ? `${server}/${repository}/actions/runs/${run}` : undefined,
    user: ['GITHUB_TRIGGERING_ACTOR', 'GITHUB_ACTOR'],
    commit: ['GITHUB_SHA'],
    branch: ['GITHUB_HEAD_REF', 'GITHUB_REF_NAME'],
  },
  {
    system: 'GitLab CI',
    isHere: isSet('GITLAB_CI'),
    url: from('CI_JOB_URL'),
    user: ['GITLAB_USER_LOGIN'],
    commit: ['CI_COMMIT_SHA'],
    branch: ['CI_MERGE_REQUEST_SOURCE_BRANCH_NAME', 'CI_COMMIT_REF_NAME'],
  },
  {
    system: 'Azure Pipelines',
    isHere: isSet('TF_BUILD'),
    url: ({ SYSTEM_COLLECTIONURI: server, SYSTEM_TEAMPROJECT: project, BUILD_BUILDID: build }) =>
      server && project && build
        ? `${server}${encodeURIComponent(project)}/_build/results?buildId=${build}`
        : undefined,
    user: ['BUILD_REQUESTEDFOR'],
    commit: ['BUILD_SOURCEVERSION'],
    branch: ['BUILD_SOURCEBRANCHNAME'],
  },
  {
    system: 'Jenkins',
    isHere: isSet('JENKINS_URL'),
    url: from('BUILD_URL'),
    user: [],
    commit: ['GIT_COMMIT'],
    branch: ['BRANCH_NAME', 'GIT_BRANCH'],
  },
  {
    system: 'CircleCI',
    isHere: isSet('CIRCLECI'),
    url: from('CIRCLE_BUILD_URL'),
    user: ['CIRCLE_USERNAME'],
    commit: ['CIRCLE_SHA1'],
    branch: ['CIRCLE_BRANCH'],
  },
  {
    system: 'Buildkite',
    isHere: isSet('BUILDKITE'),
    url: from('BUILDKITE_BUILD_URL'),
    user: ['BUILDKITE_BUILD_CREATOR'],
    commit: ['BUILDKITE_COMMIT'],
    branch: ['BUILDKITE_BRANCH'],
  },
  {
    system: 'Bitbucket Pipelines',
    isHere: isSet('BITBUCKET_BUILD_NUMBER'),
    url: ({ BITBUCKET_GIT_HTTP_ORIGIN: origin, BITBUCKET_BUILD_NUMBER: build }) =>
      origin && build ? `${origin}/pipelines/results/${build}` : undefined,
    user: [],
    commit: ['BITBUCKET_COMMIT'],
    branch: ['BITBUCKET_BRANCH'],
  },
  {
    system: 'Woodpecker CI',
    isHere: ({ CI }) => CI === 'woodpecker',
    url: from('CI_PIPELINE_URL'),
    user: ['CI_COMMIT_AUTHOR'],
    commit: ['CI_COMMIT_SHA'],
    branch: ['CI_COMMIT_SOURCE_BRANCH', 'CI_COMMIT_BRANCH'],
  },
];

interface CiJob {
  readonly ci: NonNullable<RunSource['ci']>;
  /** From the variables of the job; whether files were changed is unknown. */
  readonly repository: RunSource['repository'];
}

function ciJob(environment: Environment): CiJob | undefined {
  const found = CI_SYSTEMS.find(({ isHere }) => isHere(environment));
  if (!found) return undefined;
  const first = (names: readonly string[]) => names.map((name) => environment[name]).find((value) => value);
  const [user, commit, branch] = [first(found.user), first(found.commit)?.toLowerCase(), first(found.branch)];
  const url = linkOf(found.url(environment));
  return {
    ci: {
      system: found.system,
      ...(user !== undefined && { user: bounded(user, SHORT) }),
      ...(url !== undefined && { url }),
    },
    repository:
      commit !== undefined && COMMIT.test(commit)
        ? { commit, ...(branch !== undefined && { branch: bounded(branch, SHORT) }) }
        : undefined,
  };
}

/** An address that can be opened, without a user name and password in it. */
function linkOf(text: string | undefined): string | undefined {
  if (text === undefined || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return undefined;
  url.username = '';
  url.password = '';
  return url.href.length > LONG ? undefined : url.href;
}
