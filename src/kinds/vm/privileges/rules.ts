/** What differs between releases, in the form in which the engine asks: the table itself is one for all of us. */

import { behaves, privilegesOf, type ServerVersion } from '../../../pve/compatibility.ts';
import type { PrivilegeRules } from './need.ts';

export function privilegeRules(server: ServerVersion): PrivilegeRules {
  return {
    agent: privilegesOf(server).has('VM.Monitor') ? 'VM.Monitor' : 'VM.GuestAgent',
    tagsOfNewVms: behaves(server, 'tags of new VMs checked'),
    cpuModels: behaves(server, 'processor models with paths') ? 'mapping' : 'nodes',
    randomNumbers: behaves(server, 'random number generators for everybody'),
  };
}
