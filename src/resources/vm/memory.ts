/** What has to be remembered of a VM between runs. The state file holds one of these per VM. */

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
}
