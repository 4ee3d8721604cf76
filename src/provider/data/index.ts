/** All data sources, by the names the host knows them under. */
import type { DataSource } from '../provider.ts';
import type { SurroundingsOf } from '../surroundings.ts';
import { dataSource } from './define.ts';
import { nodes } from './nodes.ts';
import { permissions } from './permissions.ts';
import { storages } from './storages.ts';
import { template, templates } from './templates.ts';
import { vm } from './vm.ts';
import { vms } from './vms.ts';

export function dataSources(surroundingsOf: SurroundingsOf): ReadonlyMap<string, DataSource> {
  return new Map([
    ['proxwright_nodes', dataSource(nodes, surroundingsOf)],
    ['proxwright_permissions', dataSource(permissions, surroundingsOf)],
    ['proxwright_storages', dataSource(storages, surroundingsOf)],
    ['proxwright_template', dataSource(template, surroundingsOf)],
    ['proxwright_templates', dataSource(templates, surroundingsOf)],
    ['proxwright_vm', dataSource(vm, surroundingsOf)],
    ['proxwright_vms', dataSource(vms, surroundingsOf)],
  ]);
}
