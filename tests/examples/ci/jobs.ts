/** Runs the jobs of the examples as GitHub and GitLab do: the shell of each step, with the variables that the file sets. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { EXAMPLES_FOLDER } from '../support/example-scene.ts';
import type { Forge } from './forge.ts';

type Variables = Readonly<Record<string, string>>;

export interface JobEnd {
  readonly ok: boolean;
  readonly output: string;
}

export interface JobDeps {
  readonly forge: Forge;
  /** The checkout. */
  readonly directory: string;
  /** Those that a project sets: variables and secrets. */
  readonly settings: Variables;
}

function shell(script: string, options: readonly string[], { forge, directory }: JobDeps, env: Variables) {
  const PATH = `${forge.programs}:${process.env.PATH ?? ''}`;
  const child = spawn('bash', [...options, '-c', script], { cwd: directory, env: { HOME: directory, ...env, PATH } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk));
  return new Promise<{ readonly code: number; readonly output: string }>((resolve) => {
    child.on('close', (code) => resolve({ code: code ?? -1, output }));
  });
}

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly if?: string;
  readonly env?: Variables;
}

interface Workflow {
  readonly env?: Variables;
  readonly jobs: Readonly<Record<string, { readonly steps: readonly Step[] }>>;
}

/** The only job of a workflow in `examples/ci/github`. */
export async function runWorkflow(file: string, deps: JobDeps): Promise<JobEnd> {
  const workflow = parse(readFileSync(join(EXAMPLES_FOLDER, 'ci/github', file), 'utf8')) as Workflow;
  const [job] = Object.values(workflow.jobs);
  const environmentFile = join(deps.forge.programs, 'github-env');
  writeFileSync(environmentFile, '');
  const known: Variables = {
    'github.token': 'job-token',
    'github.event.pull_request.number': '12',
    ...Object.fromEntries(
      Object.entries(deps.settings).flatMap(([name, value]) => [
        [`vars.${name}`, value],
        [`secrets.${name}`, value],
      ]),
    ),
  };
  const resolved = (variables: Variables = {}) =>
    Object.fromEntries(
      Object.entries(variables).map(([name, text]) => [
        name,
        text.replace(/\$\{\{ ([\w.]+) \}\}/g, (_, key: string) => {
          const value = known[key];
          if (value === undefined) throw new Error(`${file} uses ${key}, which is not set`);
          return value;
        }),
      ]),
    );
  let [ok, output] = [true, ''];
  for (const step of job?.steps ?? []) {
    if (!ok && !/always\(\)|!cancelled\(\)/.test(step.if ?? '')) continue;
    if (step.uses?.startsWith('actions/upload-artifact')) {
      deps.forge.change((state) => {
        state.artifact = readFileSync(join(deps.directory, 'plan.json'), 'utf8');
      });
    }
    if (step.run === undefined) continue;
    const set = readFileSync(environmentFile, 'utf8')
      .split('\n')
      .filter((line) => line.includes('='));
    const fromSteps = set.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]);
    const ended = await shell(step.run, ['--noprofile', '--norc', '-e'], deps, {
      ...GITHUB,
      GITHUB_ENV: environmentFile,
      ...resolved(workflow.env),
      ...Object.fromEntries(fromSteps),
      ...resolved(step.env),
    });
    output += ended.output;
    ok &&= ended.code === 0;
  }
  return { ok, output };
}

const GITHUB: Variables = {
  GITHUB_ACTIONS: 'true',
  GITHUB_SERVER_URL: 'https://github.com',
  GITHUB_REPOSITORY: 'acme/lab',
  GITHUB_RUN_ID: '77',
  GITHUB_SHA: 'merge-sha',
  GITHUB_ACTOR: 'alice',
};

const GITLAB: Variables = {
  GITLAB_CI: 'true',
  CI_API_V4_URL: 'https://gitlab.example.org/api/v4',
  CI_PROJECT_ID: '7',
  CI_MERGE_REQUEST_IID: '12',
  CI_COMMIT_SHA: 'merge-sha',
  CI_JOB_URL: 'https://gitlab.example.org/acme/lab/-/jobs/5',
  GITLAB_USER_LOGIN: 'alice',
};

interface Pipeline {
  readonly default: { readonly before_script: readonly string[] };
  readonly variables: Variables;
}

interface PipelineJob {
  readonly variables?: Variables;
  readonly script: readonly string[];
  readonly after_script?: readonly string[];
  readonly artifacts?: { readonly paths: readonly string[] };
}

/** A job of `examples/ci/gitlab`. */
export async function runPipelineJob(name: string, deps: JobDeps): Promise<JobEnd> {
  const text = readFileSync(join(EXAMPLES_FOLDER, 'ci/gitlab/.gitlab-ci.yml'), 'utf8');
  const pipeline = parse(text) as Pipeline & Readonly<Record<string, PipelineJob>>;
  const job = pipeline[name];
  if (!job) throw new Error(`there is no job ${name}`);
  const env: Record<string, string> = { ...GITLAB, GITLAB_API_TOKEN: 'project-token', ...deps.settings };
  for (const [key, value] of Object.entries({ ...pipeline.variables, ...job.variables })) {
    env[key] = value.replace(/\$(\w+)/g, (_, other: string) => env[other] ?? '');
  }
  const inOneShell = [...pipeline.default.before_script, ...job.script].join('\n');
  const { code, output } = await shell(inOneShell, ['-eo', 'pipefail'], deps, env);
  const after = await shell((job.after_script ?? []).join('\n'), ['-o', 'pipefail'], deps, env);
  const saved = join(deps.directory, job.artifacts?.paths[0] ?? 'plan.json');
  if (code === 0 && job.artifacts && existsSync(saved)) {
    deps.forge.change((state) => {
      state.artifact = readFileSync(saved, 'utf8');
    });
  }
  // GitLab does not fail a job because of its after_script; the example should not need that.
  return { ok: code === 0 && after.code === 0, output: `${output}${after.output}` };
}
