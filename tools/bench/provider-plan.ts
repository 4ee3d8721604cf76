/**
 * How long a plan without changes takes with a real Terraform: so many VMs, beside as many of the resource that costs
 * nothing, which is what Terraform itself takes. The simulator answers over TLS.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { findHostPrograms, type HostProgram, Workspace } from '../../src/provider/testing/terraform.ts';
import { createSimulator, seededRandom, serveSimulator, systemClock } from '../../src/simulator/index.ts';
import { bundleProvider } from '../provider/bundle.ts';
import { ADDRESS, packageVersion, programName } from '../provider/platforms.ts';
import type { Figure } from './engine.ts';
import { FIRST_ID, plannedWorld } from './planned-world.ts';
import { plannedConfig } from './provider.ts';
import { TOKEN } from './requests.ts';

const SIZES = [1, 50, 500] as const;
const TURNS = 3;

export async function benchProviderPlan(): Promise<readonly Figure[]> {
  const host = (await findHostPrograms()).find(({ name }) => name === 'terraform');
  const aim = 'printed, not judged';
  if (!host) {
    const measured = 'skipped: terraform is neither on the PATH nor named in PROXWRIGHT_TERRAFORM';
    return [{ figure: 'provider: wall time of terraform plan', measured, aim, isMet: true }];
  }
  const directory = await mkdtemp(join(tmpdir(), 'proxwright-bench-'));
  try {
    await bundleProvider(join(directory, programName(packageVersion(), '.cjs')));
    const figures: Figure[] = [];
    for (const count of SIZES) {
      const floorMs = await planTime(host, directory, floorFiles(count), {});
      const ownMs = await withServer(count, (environment) => planTime(host, directory, ownFiles(count), environment));
      const ratio = ownMs / floorMs;
      const measured = `${seconds(ownMs)} = ${ratio.toFixed(1)} × ${seconds(floorMs)} of ${count} terraform_data`;
      figures.push({ figure: `provider: terraform plan without changes, ${count} VMs`, measured, aim, isMet: true });
    }
    return figures;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;

async function withServer<T>(count: number, work: (environment: Record<string, string>) => Promise<T>): Promise<T> {
  const world = plannedWorld(count, systemClock.now());
  const simulator = createSimulator({ world, clock: systemClock, random: seededRandom('bench') });
  const server = await serveSimulator(simulator, { host: '127.0.0.1', port: 0 });
  try {
    return await work({
      PROXMOX_VE_ENDPOINT: server.endpoint,
      PROXMOX_VE_FINGERPRINT: server.fingerprint,
      PROXMOX_VE_API_TOKEN: TOKEN,
    });
  } finally {
    await server.close();
  }
}

/** The median of some plans, after an apply that brings everything into the state. */
async function planTime(
  host: HostProgram,
  directory: string,
  files: Readonly<Record<string, string>>,
  environment: Readonly<Record<string, string>>,
): Promise<number> {
  const installation = { kind: 'dev-override', directory } as const;
  const workspace = await Workspace.create({ host, address: ADDRESS, installation, files, environment });
  try {
    const applied = await workspace.apply();
    if (applied.code !== 0) throw new Error(`${applied.stdout}\n${applied.stderr}`);
    const times: number[] = [];
    for (let turn = 0; turn < TURNS; turn++) {
      const startedAt = performance.now();
      const { code, stdout } = await workspace.plan();
      times.push(performance.now() - startedAt);
      if (code !== 0) throw new Error(`the plan is not empty: ${stdout.slice(-2_000)}`);
    }
    return times.sort((a, b) => a - b)[Math.floor(TURNS / 2)] ?? 0;
  } finally {
    await workspace.remove();
  }
}

function floorFiles(count: number): Record<string, string> {
  return { 'main.tf': `resource "terraform_data" "vm" {\n  count = ${count}\n  input = "vm-\${count.index}"\n}\n` };
}

function ownFiles(count: number): Record<string, string> {
  const vms = Object.fromEntries(
    Array.from({ length: count }, (_, index) => [FIRST_ID + index, plannedConfig(index)] as const),
  );
  const names = Object.keys(plannedConfig(0));
  const settings = names.map((name) => `  ${name} = each.value.${name}\n`).join('');
  return {
    'main.tf': `terraform {
  required_providers {
    proxwright = { source = "${ADDRESS}" }
  }
}
provider "proxwright" {}
locals {
  vms = jsondecode(file("vms.json"))
}
resource "proxwright_vm" "vm" {
  for_each = local.vms
${settings}}
import {
  for_each = local.vms
  to       = proxwright_vm.vm[each.key]
  id       = each.key
}
`,
    'vms.json': JSON.stringify(vms),
  };
}
