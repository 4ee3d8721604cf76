/** The Terraform examples of a fresh clone of the repository, with a cluster that fits them. */
import { copyFile, cp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COMMANDS, type HostProgram, type RunResult } from '../../../src/provider/testing/terraform.ts';
import { Scene, type SceneOptions } from '../terraform/support/scene.ts';

const EXAMPLES = fileURLToPath(new URL('../../../examples/terraform/', import.meta.url));

export interface CopyOptions {
  readonly host: HostProgram;
  readonly world: NonNullable<SceneOptions['world']>;
  /** Below examples/terraform. */
  readonly folder: string;
}

export class CleanCopy {
  readonly scene: Scene;
  readonly #folder: string;

  private constructor(scene: Scene, folder: string) {
    this.scene = scene;
    this.#folder = folder;
  }

  /** With `terraform.tfvars` out of the example's own, where it has one. */
  static async open({ host, world, folder }: CopyOptions): Promise<CleanCopy> {
    const scene = await Scene.open({ host, world });
    const isSource = (path: string) => !/[/\\](\.terraform|terraform\.tfstate|terraform\.tfvars$|out$)/.test(path);
    await cp(EXAMPLES, scene.workspace.directory, { recursive: true, filter: isSource });
    const copy = new CleanCopy(scene, folder);
    await copyFile(copy.path('terraform.tfvars.example'), copy.path('terraform.tfvars')).catch((error: unknown) => {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    });
    return copy;
  }

  path(name: string): string {
    return join(this.scene.workspace.directory, this.#folder, name);
  }

  run(command: string, ...more: string[]): Promise<RunResult> {
    return this.scene.run([`-chdir=${this.#folder}`, command, ...more]);
  }

  init(): Promise<RunResult> {
    return this.run('init', '-input=false', '-no-color');
  }

  plan(...more: string[]): Promise<RunResult> {
    return this.run(...COMMANDS.plan, ...more);
  }

  apply(...more: string[]): Promise<RunResult> {
    return this.run(...COMMANDS.apply, ...more);
  }

  destroy(): Promise<RunResult> {
    return this.run(...COMMANDS.destroy);
  }

  async outputs(): Promise<Readonly<Record<string, unknown>>> {
    const { stdout } = await this.run('output', '-json');
    const found = JSON.parse(stdout) as Record<string, { value: unknown }>; // a host's own output
    return Object.fromEntries(Object.entries(found).map(([name, { value }]) => [name, value]));
  }

  /** What is left on the cluster of what the example made. */
  leftovers(): unknown[] {
    return [...this.scene.ours(), ...this.scene.orphans()];
  }

  close(): Promise<void> {
    return this.scene.close();
  }
}
