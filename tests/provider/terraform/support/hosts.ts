/** The hosts these tests run with. A missing one is said to be missing by `findHostPrograms`. */
import { findHostPrograms, type HostProgram } from '../../../../src/provider/testing/terraform.ts';

export const HOSTS: readonly HostProgram[] = await findHostPrograms();

/** For what does not depend on the host: one is enough, Terraform where it is here. */
export const ONE_HOST: readonly HostProgram[] = HOSTS.slice(0, 1);
