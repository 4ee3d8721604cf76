/** Where a scenario cannot be replayed under another name or number, and why. Everything else is substituted. */

export type Dimension = 'vmids' | 'lowVmids' | 'names' | 'storages' | 'sizes';

/** The ids that "next free id" finds first. */
export const LOW_VMIDS = [100, 101, 102];

const LOWEST_FREE_ID = 'asks for the lowest free id, which is 101 only while 100 is taken';

const GROWS = 'asks for sizes that follow from a disk of 1 GiB';

export const SUBSTITUTION_LIMITS: Readonly<Record<string, Partial<Record<Dimension, string>>>> = {
  'clone-no-space': { lowVmids: LOWEST_FREE_ID },
  'create-minimal': { lowVmids: LOWEST_FREE_ID },
  'nextid-parallel': { lowVmids: LOWEST_FREE_ID },
  'perm-token-sees-nothing': { lowVmids: LOWEST_FREE_ID },
  'create-invalid-names': { names: 'tries names at the limits of length and alphabet' },
  'cluster-options': { vmids: 'sets the range of ids and asks for the next one', lowVmids: LOWEST_FREE_ID },
  'clone-configure-start': { sizes: GROWS },
  'config-drive-forms': { sizes: GROWS },
  'run-drive-options': { sizes: GROWS },
  'start-missing-volumes': { sizes: GROWS },
  'storage-allocate': { sizes: GROWS },
  'template-base-volumes': { sizes: GROWS },
  resize: { sizes: 'resizes to absolute sizes chosen around a disk of 1 GiB' },
  'template-convert': { sizes: 'resizes a disk of 1 GiB to 2 GiB, which would be shrinking a larger one' },
};

export function isSubstituted(scenario: string, dimension: Dimension): boolean {
  return SUBSTITUTION_LIMITS[scenario]?.[dimension] === undefined;
}
