/** What has to be remembered of a VM between runs. The state file holds one of these per VM. */

/** What makes a VM a template: the recipe it is built by, and how far it has come. */
export interface TemplateMemory {
  readonly recipe: string;
  /** It was started to install itself; `done` once it has switched itself off. */
  readonly install?: 'running' | 'done' | undefined;
  /** Converted, checked, and under its name. */
  readonly finished?: true | undefined;
}

/** A volume with documents of one's own, in a storage for ISO images. */
export interface SeedFile {
  /** One name may stand in the local storages of several nodes. */
  readonly node: string;
  readonly volid: string;
  /** It could not be removed when it was to go, and that was said; it is tried again when there is something else to do. */
  readonly stuck?: true | undefined;
}

export interface VmMemory {
  readonly vmid: number;
  /** The uuid in smbios1; unknown until the VM has been read back. */
  readonly uuid?: string | undefined;
  readonly node: string;
  readonly name: string;
  readonly phase: 'creating' | 'incomplete' | 'complete';
  /** Sent as the description of a clone, so that its outcome can be found again. */
  readonly nonce?: string | undefined;
  /** Field path → the value of the file when it was last applied. */
  readonly lastApplied: Readonly<Record<string, unknown>>;
  readonly macs: Readonly<Record<string, string>>;
  readonly addresses: Readonly<Record<string, readonly string[]>>;
  readonly template?: TemplateMemory | undefined;
  /** The one that a drive is to hold. */
  readonly seed?: (SeedFile & { readonly digest: string }) | undefined;
  /** Others of this VM that may still be there. */
  readonly oldSeeds?: readonly SeedFile[] | undefined;
}
