/** The bpg provider under a real Terraform: apply, plan, change, apply, destroy of the configuration in `bpg/main.tf`. */
import { chmod, copyFile, cp, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { difference } from './difference.ts';
import { isThere, type Ran, run, tail } from './shell.ts';
import { NODE, type Stranger } from './simulator.ts';

const MODULE = 'github.com/bpg/terraform-provider-proxmox';
const DEFAULT_VERSION = 'v0.80.0';
const CONFIGURATION = fileURLToPath(new URL('./bpg/main.tf', import.meta.url));

const AT_FIRST = { cores: '1', memory: '512', tags: '["web","a"]' };
const CHANGED = { cores: '2', memory: '1024', tags: '["a","changed"]' };
type Settings = typeof AT_FIRST;

export async function runBpg({ server, directory, report }: Stranger): Promise<void> {
  if (!(await isThere('terraform', 'version'))) return report.skip('terraform is not installed');
  const provider = process.env.PROXWRIGHT_BPG_PROVIDER ?? (await buildProvider(directory));
  if (typeof provider !== 'string') return report.skip(provider.reason);

  const cliConfig = join(directory, 'terraform.rc');
  const overrides = `dev_overrides { "bpg/proxmox" = ${JSON.stringify(dirname(provider))} }`;
  await writeFile(cliConfig, `provider_installation {\n  ${overrides}\n  direct {}\n}\n`);
  await copyFile(CONFIGURATION, join(directory, 'main.tf'));
  const upload = join(directory, 'upload.iso');
  await writeFile(upload, Buffer.alloc(1_500_000));

  const terraform = (settings: Settings, ...args: string[]) =>
    run('terraform', [...args, '-no-color', '-input=false'], {
      directory,
      environment: {
        TF_CLI_CONFIG_FILE: cliConfig,
        TF_VAR_endpoint: `${server.endpoint}/`,
        TF_VAR_token: server.token,
        TF_VAR_node: NODE,
        TF_VAR_upload: upload,
        ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [`TF_VAR_${name}`, value])),
      },
    });
  const check = (title: string, ran: Ran, ok = ran.code === 0) =>
    report.check(title, ok, ok ? lastSentence(ran.output) : `exit code ${ran.code}:\n${tail(ran.output, 40)}`);

  const before = await server.inventory();
  check('apply', await terraform(AT_FIRST, 'apply', '-auto-approve'));
  check('a plan after it is empty', await terraform(AT_FIRST, 'plan', '-detailed-exitcode'));
  const changed = await terraform(CHANGED, 'apply', '-auto-approve');
  check(
    'cores, memory and tags change in place',
    changed,
    /Resources: 0 added, 1 changed, 0 destr/.test(changed.output),
  );
  check('a plan after that is empty, too', await terraform(CHANGED, 'plan', '-detailed-exitcode'));
  check('destroy', await terraform(CHANGED, 'destroy', '-auto-approve'));
  const left = difference(before, await server.inventory());
  report.check('the world is as it was before', left === '', left);
}

/** The module is downloaded by its exact version and built where it may be written: `go install` would want a list of all. */
async function buildProvider(directory: string): Promise<string | { readonly reason: string }> {
  if (!(await isThere('go', 'version'))) return { reason: 'go is not installed and PROXWRIGHT_BPG_PROVIDER not set' };
  const version = process.env.PROXWRIGHT_BPG_VERSION ?? DEFAULT_VERSION;
  const download = await run('go', ['mod', 'download', '-json', `${MODULE}@${version}`], { directory });
  if (download.code !== 0) return { reason: `${MODULE}@${version} cannot be downloaded: ${tail(download.output, 3)}` };
  const { Dir: cached } = JSON.parse(download.stdout) as { readonly Dir: string };
  const source = join(directory, 'source');
  await cp(cached, source, { recursive: true });
  await makeWritable(source);
  const binary = join(directory, 'bin', 'terraform-provider-proxmox');
  const built = await run('go', ['build', '-o', binary, '.'], { directory: source, timeoutMs: 20 * 60_000 });
  return built.code === 0 ? binary : { reason: `the provider cannot be built: ${tail(built.output, 3)}` };
}

/** Go keeps its modules read-only, and a copy of a read-only directory cannot even be deleted. */
async function makeWritable(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (entry.isDirectory()) await makeWritable(join(directory, entry.name));
  }
}

/** `Apply complete! Resources: …` or `No changes. …`: how Terraform itself sums up. */
function lastSentence(output: string): string {
  return /^(?:Apply complete|Destroy complete|No changes).*$/m.exec(output)?.[0] ?? '';
}
